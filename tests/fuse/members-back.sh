#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon ring in=tsan
# A mount of a mirrored volume, from which members are missing or go away: one that comes back is used again without
# mounting anew, under its old name or another; one that missed a change is not.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
. "$LIB/clock.sh"
export PATH=$DATASETFS_BUILD/tests/library:$PATH

is_told() {
    grep -q "$1" daemon.log
}

# is_read NUMBER: from now on
is_read() {
    local reads
    reads=$(member "$1" reads)
    for _ in {1..20}; do
        python3 "$DATASETFS_SOURCE/tests/fuse/members_stuck.py" source mnt 8 "$RANDOM" 0.3 0 0 >/dev/null ||
            fail "wrong bytes"
        ! is_member "$1" reads -gt $((reads + 20)) || return 0
    done
    fail "member $1 is not read: $(cat mnt/.datasetfs/stats.json)"
}

mkdir source away
for i in {1..300}; do head -c $((i * 97)) /dev/urandom >"source/$i"; done
head -c 3000000 /dev/urandom >source/large
pack a,b,c source --protect mirror:2
cp b away/old

say "missing at the mount"
mv b away/
mount_volume a mnt
assert_eq "its state" "$(member 1 state)" missing
compare source mnt || fail "without a member"
mv away/b other
wait_for 30 is_told "member 1 of '.*/a' is used again, it is '.*/other'" || fail "it is not found: $(cat daemon.log)"
assert_eq "its state" "$(member 1 state)" ok
is_read 1
compare source mnt || fail "with the member that is back"
WAY=direct library-way mnt sums | sort >past
WAY=direct library-way a sums | sort | cmp - past || fail "past the mount"

say "lost, and back as another file"
cp other away/b
truncate -s 16M other
rm other
for _ in {1..20}; do
    python3 "$DATASETFS_SOURCE/tests/fuse/members_stuck.py" source mnt 8 "$RANDOM" 0.3 0 0 >/dev/null || fail "lost"
    ! is_member 1 state = missing || break
done
assert_eq "its state when it is lost" "$(member 1 state)" missing
degraded="degraded: member 1 missing, [1-9][0-9]+ % of this version has one copy left"
[[ $(datasetfsctl status mnt | head -n 1) =~ ^$degraded$ ]] || fail "$(datasetfsctl status mnt)"
assert_eq "what member list says" "$(datasetfsctl member list --json a | json members.1.state)" missing
: >daemon.log
mv away/b b
wait_for 30 is_told "is used again, it is '.*/b'" || fail "it is not found again: $(cat daemon.log)"
is_read 1
assert_eq "its state" "$(member 1 state)" ok
assert_eq "reads that failed" "$(stats mnt read_failures)" 0
unmount mnt

say "missing, and what the volume was called by is empty"
mv b away/
mount_volume a mnt
cp a away/a
: >a
: >daemon.log
mv away/b b
wait_for 30 is_told "is used again, it is '.*/b'" || fail "it is not found: $(cat daemon.log)"
! is_told "the volume has 1 members" || fail "an empty member is no volume: $(cat daemon.log)"
cat away/a >a
is_read 0
compare source mnt || fail "with both that are back"
unmount mnt

say "one that missed changes"
head -c 1000000 /dev/urandom >source/more
pack a source
rm source/1*
pack a source
mv b away/new
mount_volume a mnt
cp away/old b
sleep 12 # it is looked at twice
assert_eq "state of a stale one" "$(member 1 state)" missing
compare source mnt || fail "with a stale member beside it"
rm b
mv away/new b
wait_for 30 is_told "is used again" || fail "it is not found: $(cat daemon.log)"
is_read 1
unmount mnt

say "emptied, and replaced"
pack g,h source --protect mirror:2
by_clock mount_volume g mnt
head -c "$(stat -c %s h)" /dev/zero | dd of=h bs=1M conv=notrunc status=none
compare source mnt || fail "with a member that was emptied"
[ "$(stats mnt damaged)" -gt 0 ] || fail "nobody read it"
wait_for 20 is_member 1 state = missing || fail "it is not missing: $(datasetfsctl status mnt)"
assert_contains "status" "$(datasetfsctl status mnt | head -n 1)" "degraded: member 1 missing, "
datasetfsctl member replace g 1 i >/dev/null 2>replace.log || fail "replace: $(cat replace.log)"
is_over() {
    pass 31000
    is_member 1 state = ok && [ "$(stats mnt damaged)" = 0 ]
}
wait_for 30 is_over || fail "trouble does not end: $(datasetfsctl status mnt; cat daemon.log)"
pass 301000
[[ $(by_clock datasetfsctl status mnt | head -n 1) =~ ^"healthy; "[0-9]+" error"s?" earlier, the last " ]] ||
    fail "$(by_clock datasetfsctl status mnt)"
is_read 1
unmount mnt

say "one that cannot be used, and another one behind it"
need_loop
for name in d e f; do truncate -s 64M $name; done
for name in d e f; do
    loop_device $name
    devices+=("$LOOP")
done
pack "$(IFS=, && echo "${devices[*]}")" source --protect mirror:3
losetup --detach "${devices[1]}"
losetup --detach "${devices[2]}"
wait_for 20 loop_is_over "${devices[1]}" "$PWD/e"
wait_for 20 loop_is_over "${devices[2]}" "$PWD/f"
mount_volume "${devices[0]}" mnt
assert_eq "their states" "$(member 1 state) $(member 2 state)" "missing missing"
: >daemon.log
loop_device e --sector-size 4096
loop_device f
wait_for 30 is_told "member 2 of '.*' is used again" || fail "the other one is not found: $(cat daemon.log)"
wait_for 30 is_told "has logical blocks of 4096 bytes, expected 512 or less" || fail "no reason: $(cat daemon.log)"
assert_eq "their states" "$(member 1 state) $(member 2 state)" "missing ok"
is_read 2
unmount mnt
