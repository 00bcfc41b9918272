#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# A volume of several files, as its commands show and change it: by any name, from one version to the next, with copies
# and without; space that is given up and used again; and slips in naming members, of which each is one line.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

# member NUMBER KEY: of volume a
member() {
    datasetfsctl list --json a | python3 -c '
import json, sys
print(json.load(sys.stdin)["member_list"][int(sys.argv[1])][sys.argv[2]])' "$@"
}

# mirrored LABEL: per cent, as shown
mirrored() {
    datasetfsctl list a | awk -v label="$1" '$1 == label || $2 == label' | grep -o '[0-9]*%'
}

mkdir source
for i in $(seq 60); do head -c $((i * 2000)) /dev/urandom >source/$i; done
head -c 5M /dev/urandom >source/large
pack a,b,c source --label one --segment-size 1M
assert_eq "members" "$(datasetfsctl list --json a | json members)" 3
assert_eq "its first member" "$(member 0 name)" a
assert_eq "the volume by another member" "$(datasetfsctl list --json c | json uuid)" \
    "$(datasetfsctl list --json b,a,c | json uuid)"
assert_eq "no copies" "$(mirrored one)" 0%
assert_contains "verify" "$(datasetfsctl verify b)" "clean: "

# A later publish shares what is there, and says that it is no better protected.
head -c 3M /dev/urandom >source/more
assert_contains "the summary" "$(mkdatasetfs --no-current --protect mirror:2 b source --label two)" \
    "of it shared with versions that have fewer copies"
datasetfsctl verify c >verify.out || fail "verify: $(cat verify.out)"
assert_contains "the second version" "$(cat verify.out)" "version 'two': clean"
[ "$(mirrored two | tr -d %)" -gt 10 ] && [ "$(mirrored two | tr -d %)" -lt 60 ] || fail "mirrored: $(mirrored two)"

# Segments that no other version shares are free again with their version, and the members do not grow for the next one.
before=$(stat -c %s a b c)
for i in 1 2 3 4; do
    datasetfsctl remove a two >/dev/null || fail "remove"
    mkdatasetfs --no-current c source --label two >/dev/null || fail "pack again"
done
assert_eq "sizes after removing and publishing again" "$(stat -c %s a b c)" "$before"
datasetfsctl current a one >/dev/null || fail "current"
assert_eq "current" "$(datasetfsctl list --json b | json current)" one
datasetfsctl remove b two >/dev/null || fail "remove"
assert_eq "content of what stays" "$(datasetfsctl dump a one | sha256sum)" "$(datasetfsctl dump c,b,a one | sha256sum)"

# The publishers of two members exclude each other.
exec 9<>c
flock 9
assert_fails 1 "a program that does not publish has it locked" mkdatasetfs a source
assert_fails 1 "a program that does not publish has it locked" datasetfsctl current b one
exec 9>&-

# Slips.
before=$(hash_of a)$(hash_of b)$(hash_of c)
assert_fails 1 "'d' and './d' are the same" mkdatasetfs d,./d source
assert_fails 1 "--protect mirror:3 needs 3 members, it has 2" mkdatasetfs --protect mirror:3 d,e source
assert_fails 2 "'mirror:4' is not none, mirror:2 or mirror:3" mkdatasetfs --protect mirror:4 d,e source
assert_fails 1 "--protect mirror:2 needs 2 members, it has 1" mkdatasetfs --protect mirror:2 d source
assert_fails 1 "empty" mkdatasetfs d,,e source
if [ -e d ] || [ -e e ]; then fail "a file was left behind"; fi
pack single source
assert_fails 1 "member" mkdatasetfs a,b,c,single source
assert_fails 1 "'single' holds a volume and 'd' does not" mkdatasetfs single,d source
if [ -e d ]; then fail "a file was left behind"; fi
mv b renamed
assert_eq "a member under another name" "$(member 1 name)" "$PWD/renamed"
mkdir other
mv renamed other/b
assert_fails 1 "1 of 3 members" datasetfsctl list a
assert_fails 1 "1 of 3 members" mkdatasetfs a source
mv other/b b
pack other/a,other/b,other/c source
assert_fails 1 "other/b" datasetfsctl list a,other/b,c
assert_eq "the volume after all that" "$(hash_of a)$(hash_of b)$(hash_of c)" "$before"
