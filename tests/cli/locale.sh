#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain
# Names that are not ASCII: in every locale the programs end, pack and print the same.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_command localedef

# é ends in a byte that ISO-8859-1 shows, Û in one that it takes as a control character; 日 takes two columns.
mkdir -p source/é source/日本
echo hi >source/é/Û.日
echo other >source/日本/ü
pack volume source --label v1
mv source/é/Û.日 source/日本
echo new >source/é.new
pack volume source --label v2
tar cf volume.tar source
sysfs_tree sys

mkdir with without
cp -R "$(locale -a -v 2>/dev/null | sed -n 's/^locale: C.utf8 .*directory: //p')" with
localedef -i en_US -f ISO-8859-1 with/latin1 || fail "localedef, which needs the package locales"
cp -R with/latin1 without
assert_eq charmap "$(LC_ALL=latin1 LOCPATH=$PWD/with locale charmap)" ISO-8859-1

# all_of TREE: what programs print in the locale that is set, into TREE.out, and what they write, into TREE
all_of() {
    local verb rc
    mkdir -p "$1/tree"
    for verb in "describe volume" "describe volume --diff v1 v2" "list volume" "list --space volume" "ls -l volume" \
        "nvme list" "plan volume --workers 1 --gpus 1 --rate 1" "scrub volume" "verify volume" \
        "extract volume -C $1/tree"; do
        rc=0
        # shellcheck disable=SC2086
        DATASETFS_SYSFS=$PWD/sys timeout 60 datasetfsctl $verb 2>&1 || rc=$?
        assert_eq "$verb" $rc 0 >&2
    done | sed -E "s,'$1/tree','TREE',; s/[0-9.]+ (s|[KMGi]*B.s|bytes.s)\b/N/g" >"$1.out"
    datasetfsctl export tar volume v2 "$1/tar"
    mkdatasetfs --progress none "$1/archived" volume.tar --label a >"$1/log"
    datasetfsctl ls -R "$1/archived" >"$1/names"
    rm "$1/archived" "$1/log"
}
LC_ALL=C.UTF-8 all_of utf8
assert_contains "a table" "$(<utf8.out)" "6 bytes  /日本/ü"
# same NAME [VARIABLE=VALUE…]: as in C.UTF-8
same() {
    say "$1"
    (export "${@:2}" && all_of "$1")
    diff utf8.out "$1.out" || fail "$1: another text"
    diff -r utf8 "$1" || fail "$1: other files"
}
same C LC_ALL=C
same latin1 LOCPATH="$PWD/with" LC_ALL=latin1
# Without a locale that has UTF-8, only the columns of wide characters are not known.
LC_ALL=latin1 LOCPATH=$PWD/without timeout 60 datasetfsctl describe volume >alone.out
diff -w <(LC_ALL=C.UTF-8 datasetfsctl describe volume) alone.out
