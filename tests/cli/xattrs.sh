#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# Extended attributes: those that options leave out, those that are too long, and a change of the options beside
# --trust-mtime.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/clock.sh"
need_command setfattr

mkdir source
for name in file other; do echo $name >source/$name; done
setfattr -n user.a -v 1 source/file 2>/dev/null || skip "no user attributes here"
setfattr -n user.stream.a/b -v 2 source/file
setfattr -n user.stream.long -v "$(head -c 3000 /dev/zero | tr '\0' x)" source/file
setfattr -n user.folder -v 3 source
setfattr -n user.datasetfs-version -v 4 source # what a mount by the kernel says of itself, or a copy of it
tar --xattrs -cf tree.tar -C source .

# publish OPTIONS…
publish() {
    later mkdatasetfs --progress none --json "$@" >out 2>err || fail "$*: $(cat err)"
}

# names VOLUME [VERSION]: of the attributes
names() {
    datasetfsctl dump "$@" | awk '$1 == "x" { print $2 }' | LC_ALL=C sort | tr '\n' ' '
}

# same WHAT EXPECTED OPTIONS…: of a folder and of an archive
same() {
    rm -f v
    publish "${@:3}" v source
    assert_eq "$1" "$(names v)" "$2"
    rm -f v
    publish "${@:3}" v tree.tar
    assert_eq "$1, of an archive" "$(names v)" "$2"
}

same "all" "user.a user.folder user.stream.a/b user.stream.long "
same "none" "" --no-xattrs
same "without streams" "user.a user.folder " --xattrs-exclude 'user.stream*'
same "streams alone" "user.stream.a/b user.stream.long " --xattrs-include 'user.stream.*'
same "excluded first and last" "user.a user.stream.long " --xattrs-exclude '*/b' --xattrs-include user.a \
    --xattrs-include '*[ms].*' --xattrs-exclude user.folder
assert_fails 2 "option '--xattrs-include': '' is not a pattern" mkdatasetfs --xattrs-include '' v source

say "--trust-mtime asks for attributes that the trusted version left out"
rm -f v
publish --label none --no-xattrs v source
publish --label all --trust-mtime=none v source
assert_eq "not opened" "$(json unchanged_files out)" 2
assert_eq "all after none" "$(names v all)" "user.a user.folder user.stream.a/b user.stream.long "
publish --label one --trust-mtime=all --xattrs-include user.a v source
publish --label again --trust-mtime=one v source
assert_eq "all after one" "$(names v again)" "user.a user.folder user.stream.a/b user.stream.long "
publish --label left --trust-mtime=all --no-xattrs v source
assert_eq "none after all" "$(names v left)" ""

# A filesystem in memory or XFS holds as much; ext4 does not.
mkdir long
! is_root || ! (need_mount) >/dev/null || mount -t tmpfs none long
at_exit umount long
echo fork >long/file
for i in 1 2; do
    python3 -c "import os; os.setxattr('long/file', 'user.stream.$i', bytes(40000))" 2>/dev/null ||
        skip "no filesystem with long attributes"
done
hint="user attributes take more than 65536 bytes: --no-xattrs or --xattrs-exclude leaves attributes out"
assert_fails 1 "'file': its $hint" mkdatasetfs --progress none w long
tar --xattrs -cf long.tar -C long file
assert_fails 1 "'long.tar': the user attributes of 'file' take more than 65536 bytes: --no-xattrs" \
    mkdatasetfs --progress none w long.tar
for source in long long.tar; do
    rm -f w
    publish --xattrs-exclude '*.2' w $source
    assert_eq "what fits" "$(names w)" "user.stream.1 "
done
