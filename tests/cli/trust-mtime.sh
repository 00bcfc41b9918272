#!/bin/bash
# SPDX-License-Identifier: MIT
# --trust-mtime: files with the size, time and inode number that a version recorded are not opened; everything else about
# them is looked at as always.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

# publish NAME OPTIONS…: its summary in NAME.json
publish() {
    mkdatasetfs --json --progress none "${@:2}" volume source >"$1.json" 2>"$1.err" || fail "$1: $(cat "$1.err")"
}

tree random source --seed 11 --files 300
tree nasty source/nasty --no-special --no-huge --plain-owners 2>/dev/null
publish first --label first --trust-mtime
assert_eq "messages of the first publish" "$(cat first.err)" ""
assert_eq "unchanged files of the first" "$(json unchanged_files first.json)" 0
files=$(find source -type f -size +0 -printf '%i\n' | sort -u | wc -l)

# All of them, and the digest is that of a publish that reads everything.
publish second --trust-mtime --label second
assert_eq "unchanged files" "$(json unchanged_files second.json)" "$files"
assert_eq "bytes read" "$(json read_bytes second.json)" 0
assert_eq "digest" "$(json digest second.json)" "$(json digest first.json)"

name=$(cd source && find . -maxdepth 1 -type f -size +1k ! -name $'*[^a-z0-9]*' -printf '%f\n' | LC_ALL=C sort | sed -n 1p)
[ -n "$name" ] || fail "no file with a plain name"

# A change of content, of attributes, a new name, a touched file.
head -c 3000 /dev/urandom >"source/$name"
mkdir source/more
echo new >source/more/new
chmod 600 source/nasty/sizes/* 2>/dev/null || true
setfattr -n user.later -v added source/nasty/xattrs/file
mv source/nasty/duplicates source/moved
publish trusted --trust-mtime=second --label trusted
publish read --label read
assert_eq "digest after changes" "$(json digest trusted.json)" "$(json digest read.json)"
[ "$(json digest read.json)" != "$(json digest first.json)" ] || fail "the changes are not in the digest"
[ "$(json unchanged_files trusted.json)" -ge $((files - 2)) ] || fail "only $(json unchanged_files trusted.json) unchanged"

# What it is for is also what it cannot see: same size and time, other bytes.
printf 'x' | dd of="source/$name" bs=1 conv=notrunc status=none
touch -r source/more "source/$name"
publish before --label before
printf 'y' | dd of="source/$name" bs=1 conv=notrunc status=none
touch -r source/more "source/$name"
publish blind --trust-mtime --label blind
assert_eq "a change that keeps size and time" "$(json digest blind.json)" "$(json digest before.json)"
publish sees --label sees
[ "$(json digest sees.json)" != "$(json digest before.json)" ] || fail "without the option the change is missed too"

# Another chunk size cannot use the records, but the publish is right.
publish other --trust-mtime --chunk-size 64K --label other
publish plain --chunk-size 64K --label plain
assert_eq "digest with another chunk size" "$(json digest other.json)" "$(json digest plain.json)"

# Versions without a memory: files are read, and that is said.
assert_fails 1 "has no version 'v77'" mkdatasetfs --progress none --trust-mtime=v77 volume source
mkdatasetfs --progress none --uuid 01234567-89ab-cdef-0123-456789abcdef quiet source/more >/dev/null
mkdatasetfs --progress none --trust-mtime quiet source/more >out 2>err || fail "$(cat err)"
assert_contains "no memory" "$(cat err)" "has no memory of its source, ignoring"

# Files whose times of change are so old that a change would show are not asked for attributes: one more is found all the same.
sleep 3
publish settled --label settled
setfattr -n user.first -v one source/more/new
publish attribute --trust-mtime=settled --label attribute
publish every --label every
assert_eq "digest with an attribute more" "$(json digest attribute.json)" "$(json digest every.json)"
[ "$(json digest every.json)" != "$(json digest settled.json)" ] || fail "the attribute is not in the digest"
datasetfsctl verify volume >verify.out || fail "verify: $(cat verify.out)"

# Neither is opened; asked for attributes are those that have some, and those that changed.
need_command strace
ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" strace -f -e trace=openat,open,llistxattr -o trace \
    mkdatasetfs --progress none --trust-mtime=settled --label untouched volume source >/dev/null ||
    skip "strace cannot trace here"
! grep -E "open.*\"($name|new)\"" trace || fail "an unchanged file was opened"
! grep -F "/$name\"" trace || fail "'$name' was asked for attributes"
grep -q 'llistxattr.*/new"' trace || fail "'new' was not asked for attributes"
grep -q 'llistxattr.*/file"' trace || fail "a file with attributes was not asked for them"
