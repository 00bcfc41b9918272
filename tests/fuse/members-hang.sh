#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=tsan timeout=300
# The control thread of a mount does not wait for a member that hangs: versions are switched, and a member that was
# missing comes back meanwhile.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

mkdir source away back
for i in {1..100}; do head -c $((i * 97)) /dev/urandom >"source/$i"; done
pack a,back/b,c source --protect mirror:2
cp -r source second
head -c 500000 /dev/urandom >second/more
pack a,back/b,c second
slow_device back/b b 0 b.control

# Nobody reads it when it begins to hang, so nobody knows. The second time its read is known to be out.
for io in $(length uring "uring threads"); do
    say "io=$io: a switch"
    mount_volume a,b,c mnt -o "io=$io"
    slow_control b.control hang
    for version in v1 v2 v1; do
        timeout 100 datasetfsctl switch mnt $version >switched 2>&1 || fail "switch: $(cat switched daemon.log)"
        grep -q "serves version '$version'" switched || fail "switch: $(cat switched)"
    done
    cmp source/7 mnt/7 || fail "wrong bytes"
    timeout 100 ls mnt/.datasetfs/versions >listed || fail "versions are not listed: $(cat daemon.log)"
    assert_eq "versions" "$(tr '\n' ' ' <listed)" "v1 v2 "
    slow_control b.control 0
    unmount mnt

    say "io=$io: a member comes back"
    mv c away/
    : >daemon.log
    mount_volume a mnt -o "io=$io"
    assert_eq "the state of one that is missing" "$(member 2 state)" missing
    slow_control b.control hang
    mv away/c c
    wait_for 100 grep -q "member 2 of '.*/a' is used again, it is '.*/c'" daemon.log ||
        fail "it is not found: $(cat daemon.log)"
    assert_eq "its state" "$(member 2 state)" ok
    compare second mnt || fail "wrong bytes with a member that is back"
    slow_control b.control 0
    unmount mnt
done

is_root || exit 0 # only root has RESEND
say "a switch while servers die, each before it could wait long for the member"
mount_volume a,b,c mnt
slow_control b.control hang
killing() {
    while [ -n "$(started "$SWITCH")" ]; do
        kill -KILL "$(server_of "$DAEMON")"
        sleep 1.5
    done
}
for version in v1 v2; do
    timeout 100 datasetfsctl switch mnt $version >switched 2>&1 & SWITCH=$!
    killing
    wait $SWITCH || fail "switch: $(cat switched daemon.log)"
    grep -q "serves version '$version'" switched || fail "switch: $(cat switched)"
done
cmp second/7 mnt/7 || fail "wrong bytes"
slow_control b.control 0
unmount mnt
