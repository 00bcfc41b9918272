#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# A limit on the size of files (ulimit -f): one line, status 1, the volume as it was, no new file;
# not a signal that ends it.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

# limited BLOCKS COMMAND…: no file becomes larger than so many KiB
limited() {
    bash -c 'ulimit -f "$1"; exec "${@:2}"' limited "$@"
}

refused="files of this process may not be larger than"

mkdir small source
echo content >small/file
for i in {1..60}; do head -c 100K /dev/urandom >source/$i; done
pack volume small
before=$(hash_of volume)
assert_fails 1 "$refused" limited 2048 mkdatasetfs --progress none new source
[ ! -e new ] || fail "the new file stayed"
for options in "" --format; do
    # shellcheck disable=SC2086
    assert_fails 1 "$refused" limited 2048 mkdatasetfs --progress none $options volume source
    assert_eq "the volume after a publish $options" "$(hash_of volume)" "$before"
done
left=$(find . -maxdepth 1 \( -name 'mkdatasetfs.*' -o -name '*.new-*' \))
[ -z "$left" ] || fail "left behind: $left"

# A third of what was packed stays alive, and its copies lie behind the end.
pack sparse source --segment-size 1M
find source -name '*[1-9]' -delete
echo more >source/more
pack sparse source
datasetfsctl remove sparse v1 2>/dev/null >&2 || fail "remove"
before=$(hash_of sparse)
assert_fails 1 "$refused" limited $(($(stat -c %s sparse) / 1024 + 64)) datasetfsctl compact sparse
assert_eq "the volume after a compaction" "$(hash_of sparse)" "$before"
datasetfsctl compact sparse 2>/dev/null >out || fail "compact without a limit"
assert_contains "without a limit" "$(cat out)" "segments emptied"
