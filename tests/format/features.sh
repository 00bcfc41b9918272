#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# A volume that a newer release wrote, with features that this one does not know, is read where that is allowed, and
# never written anew.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir source
echo one >source/file
pack volume source --label one
echo two >source/file
pack volume source --label two

# unchanged COMMAND…: is refused
unchanged() {
    assert_fails 1 "written by a newer datasetfs, unknown features" "$@"
    ! grep -e --format "$DATASETFS_TEST_DIR/fails.err" || fail "advice that loses the volume: $*"
    assert_eq "the volume after $*" "$(hash_of newer)" "$before"
}

for word in superblock compat incompat; do
    say "$word"
    cp volume newer
    "$DATASETFS_BUILD/tests/format/features" newer $word || fail "features"
    before=$(hash_of newer)
    unchanged mkdatasetfs --progress none newer source
    unchanged mkdatasetfs --progress none --dry-run newer source
    unchanged datasetfsctl current newer one
    unchanged datasetfsctl remove newer one
    unchanged datasetfsctl compact newer
    assert_eq "versions" "$(datasetfsctl list --json newer | grep -o '"sequence"' | wc -l)" 2
    assert_eq "dump of the other version" "$(datasetfsctl dump newer two)" "$(datasetfsctl dump volume two)"
    if [ $word = incompat ]; then
        assert_fails 1 "unknown incompatible features" datasetfsctl dump newer one
    else
        datasetfsctl verify newer >verify.out || fail "verify: $(cat verify.out)"
    fi
done

say "sums of another kind, whose records have another length"
mkdir many
for i in {1..300}; do seq "$i" $((i + 99)) >many/$i; done
pack newer many --format --label one --sums sha256
pack newer many --label two --sums xxh3-64
"$DATASETFS_BUILD/tests/format/features" newer sums || fail "features"
assert_eq "kinds" "$(datasetfsctl list --json newer | json versions.0.sums)" unknown
assert_fails 1 "version 'one': chunk sums of kind 3, this release knows 1 and 2" datasetfsctl dump newer one
datasetfsctl dump newer two >/dev/null || fail "dump of the other version"
pack newer many --label three
datasetfsctl remove newer one >/dev/null 2>&1 || fail "remove"
datasetfsctl verify newer >verify.out || fail "verify: $(cat verify.out)"
