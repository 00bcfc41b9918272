#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke in=asan
# --trust-mtime: files with the inode number, size and times that a version recorded are not opened;
# what changed in any way, or might have, is.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/clock.sh"

# publish NAME OPTIONS…: its summary in NAME.json
publish() {
    mkdatasetfs --json --progress none "${@:2}" volume source >"$1.json" 2>"$1.err" || fail "$1: $(cat "$1.err")"
}

# trusted_is_right NAME VERSION: VERSION trusted, as NAME, has the digest of a publish that reads everything
trusted_is_right() {
    publish "$1" --trust-mtime="$2" --label "$1"
    publish "$1-read" --label "$1-read"
    assert_eq "digest of $1" "$(json digest "$1.json")" "$(json digest "$1-read.json")"
}

# differ NAME NAME: the versions have other content
differ() {
    [ "$(json digest "$1.json")" != "$(json digest "$2.json")" ] ||
        fail "the change between $1 and $2 is missed in any case"
}

tree random source --seed 11 --files 300
tree nasty source/nasty --no-special --no-huge --plain-owners 2>/dev/null
later publish first --label first --trust-mtime
assert_eq "messages of the first publish" "$(grep -vE 'lead out of the source|closed to other users' first.err)" ""
assert_eq "unchanged files of the first" "$(json unchanged_files first.json)" 0
files=$(find source -type f -size +0 -printf '%i\n' | sort -u | wc -l)

# All of them, and the digest is that of a publish that reads everything.
later publish second --trust-mtime --label second
assert_eq "unchanged files" "$(json unchanged_files second.json)" "$files"
assert_eq "bytes read" "$(json read_bytes second.json)" 0
assert_eq "digest" "$(json digest second.json)" "$(json digest first.json)"

name=$(cd source && find . -maxdepth 1 -type f -size +1k ! -name $'*[^a-z0-9]*' -printf '%f\n' |
    LC_ALL=C sort | sed -n 1p)
[ -n "$name" ] || fail "no file with a plain name"

# A change of content, of attributes, a new name, a touched file.
head -c 3000 /dev/urandom >"source/$name"
mkdir source/more
echo new >source/more/new
chmod 600 source/nasty/sizes/* 2>/dev/null || true
setfattr -n user.later -v added source/nasty/xattrs/file
mv source/nasty/duplicates source/moved
unchanged=$(find source -type f -size +0 ! -cnewer second.json -printf '%i\n' | sort -u | wc -l)
[ "$unchanged" -lt "$files" ] || fail "the changes did not change anything"
trusted_is_right trusted second
differ trusted first
assert_eq "unchanged files after changes" "$(json unchanged_files trusted.json)" "$unchanged"

say "a change that keeps the size and puts the time back"
printf 'x' | dd of="source/$name" bs=1 conv=notrunc status=none
touch -r source/more "source/$name"
later publish before --label before
later publish same --trust-mtime=before --label same
assert_eq "unchanged files" "$(json unchanged_files same.json)" \
    "$(find source -type f -size +0 -printf '%i\n' | sort -u | wc -l)"
printf 'y' | dd of="source/$name" bs=1 conv=notrunc status=none
touch -r source/more "source/$name"
trusted_is_right after before
differ after before
assert_eq "files read" "$(json read_bytes after.json)" "$(stat -c %s "source/$name")"

say "the same, just before and just after the file is read"
printf 'z' | dd of="source/$name" bs=1 conv=notrunc status=none
touch -r source/more "source/$name"
publish young --label young
printf 'u' | dd of="source/$name" bs=1 conv=notrunc status=none
touch -r source/more "source/$name"
trusted_is_right older young
differ older young

say "what is younger than two seconds when it is read"
changed=$(stat -c %Z "source/$name")
# trusted_after SECONDS: after that change
trusted_after() {
    CLOCK_AT=$((changed + $1)) by_clock publish "after-$1" --label "after-$1"
    publish "after-$1-trusted" --trust-mtime="after-$1" --label "after-$1-trusted"
    assert_eq "files that are trusted when $1 s had passed" "$(json unchanged_files "after-$1-trusted.json")" \
        "$(find source -type f -size +0 -printf '%C@ %i\n' | awk -v end=$((changed + $1 - 2)) '$1 < end { print $2 }' |
            sort -u | wc -l)"
}
trusted_after 2
trusted_after 3

say "a set that was unpacked anew: numbers of the old files in another order"
mkdir source/samples
# samples ORDER…: files of one size and time, with their number in them
samples() {
    for i in "$@"; do printf '%01000d' "$i" >"source/samples/$i"; done
    touch -d @1700000000 source/samples/*
}
samples $(seq 100)
(cd source/samples && stat -c '%i %n' -- *) | LC_ALL=C sort >numbers
later publish samples --label samples
for ((round = 0; round < 20; round++)); do
    rm source/samples/*
    mapfile -t order < <(seq 100 | sort -R --random-source=<(yes $round))
    samples "${order[@]}"
    (cd source/samples && stat -c '%i %n' -- *) | LC_ALL=C sort >numbers.now
    permuted=$(LC_ALL=C join numbers numbers.now | awk '$2 != $3' | wc -l)
    [ "$permuted" = 0 ] || break
done
say "$permuted numbers are those of other files, after $((round + 1)) rounds"
trusted_is_right permuted samples

# Another chunk size cannot use the records, but the publish is right.
publish other --trust-mtime --chunk-size 64K --label other
publish plain --chunk-size 64K --label plain
assert_eq "digest with another chunk size" "$(json digest other.json)" "$(json digest plain.json)"

# Versions without a memory: files are read, and that is said.
assert_fails 1 "has no version 'v77'" mkdatasetfs --progress none --trust-mtime=v77 volume source
mkdatasetfs --progress none --uuid 01234567-89ab-cdef-0123-456789abcdef quiet source/more >/dev/null
mkdatasetfs --progress none --trust-mtime quiet source/more >out 2>err || fail "$(cat err)"
assert_contains "no memory" "$(cat err)" "has no stat cache, ignoring"

# Trusted files without attributes are not asked for them: one more is found all the same.
later publish settled --label settled
setfattr -n user.first -v one source/more/new
publish attribute --trust-mtime=settled --label attribute
publish every --label every
assert_eq "digest with an attribute more" "$(json digest attribute.json)" "$(json digest every.json)"
[ "$(json digest every.json)" != "$(json digest settled.json)" ] || fail "the attribute is not in the digest"
datasetfsctl verify volume >verify.out || fail "verify: $(cat verify.out)"

# Opened are those that changed; asked for attributes are those that have some.
need_command strace
ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" strace -f -e trace=openat,open,llistxattr -o trace \
    mkdatasetfs --progress none --trust-mtime=settled --label untouched volume source >/dev/null ||
    skip "strace cannot trace here"
! grep -E "open.*\"$name\"" trace || fail "an unchanged file was opened"
! grep -F "/$name\"" trace || fail "'$name' was asked for attributes"
grep -q 'open.*"new"' trace || fail "'new', which changed, was not opened"
grep -q 'llistxattr.*/file"' trace || fail "a file with attributes was not asked for them"
