#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan
# A mirrored volume of which a member is not there: it is mounted and read as ever, says so everywhere, and is not
# changed; without copies, or with too many members missing, it is refused by name. A member that was away during a
# change is not read for what it missed.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/client.sh"
need_fuse
export PATH=$DATASETFS_BUILD/tests/library:$PATH

# sums_right WHAT: those of the library, past the mount
sums_right() {
    WAY=direct library-way mnt sums | sort | cmp - sums || fail "$1: the library has something else"
}

mkdir -p source/many away
for i in {1..300}; do head -c $((i * 97)) /dev/urandom >"source/many/$i"; done
head -c 6000000 /dev/urandom >source/large
pack a,b,c source --protect mirror:2
WAY=direct library-way a sums | sort >sums
number=0
for member in a b c; do
    mv $member away/
    there=$(find . -maxdepth 1 -name '[abc]' | sort | head -n 1)
    : >daemon.log
    mount_volume "$there" mnt
    assert_contains "the log without $member" "$(cat daemon.log)" "is degraded: member $number is missing or stale"
    compare source mnt || fail "without $member: the mount has something else"
    assert_eq "state of the member that is away" "$(member $number state)" missing
    sums_right "without $member"
    client it
    told it "open mnt" "direct v1"
    ask it quit
    rm -f it.to it.from
    assert_eq "read failures" "$(stats mnt read_failures)" 0
    assert_eq "device errors" "$(stats mnt device_errors)" 0
    assert_contains "the list" "$(datasetfsctl list "$there")" "(missing)"
    datasetfsctl verify "$there" >verify.log && fail "verify is content without $member"
    assert_eq "what verify says" "$(grep -v "^version\|checked in" verify.log)" "unknown member $number: it is missing"
    assert_fails 1 "member $number is missing: a volume is changed only when all its members are there" \
        mkdatasetfs "$there" source
    assert_fails 1 "member $number is missing: a volume is changed only when all its members are there" \
        datasetfsctl current "$there" v1
    unmount mnt
    mv away/$member .
    number=$((number + 1))
done
mount_volume a mnt
assert_eq "state with all there" "$(member 0 state) $(member 1 state) $(member 2 state)" "ok ok ok"
unmount mnt

# Two of three: some files had both copies there.
mv b c away/
assert_fails 32 "2 of 3 members are missing" datasetfs a mnt
assert_fails 32 "member 1 (" datasetfs a mnt
mv away/b away/c .

# One that missed two changes comes back: only what it knew of is read from it.
cp b away/b
head -c 3000000 /dev/urandom >source/more
pack a source
rm source/many/1*
pack c source
mv b away/newest
mv away/b b
mount_volume a mnt
compare source mnt || fail "with a stale member: the mount has something else"
WAY=mount library-way mnt sums | sort >sums
sums_right "with a stale member"
client it
for version in v1 v2; do told it "open mnt direct $version" "direct $version"; done # not open in the daemon
ask it quit
assert_eq "state of the stale member" "$(member 1 state)" missing
unmount mnt
assert_fails 1 "member 1" mkdatasetfs a source

rm a b c
pack a,b source
mv b away/
assert_fails 32 "1 of 2 members are missing" datasetfs a mnt
