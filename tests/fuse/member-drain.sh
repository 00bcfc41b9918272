#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan,tsan timeout=300
# A member is drained, and others get their share, while mounts that follow serve: no reader notices, and the member is
# not missed afterwards, by mounts of before, by the next server or by new ones.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

small_files source 11 300 1
pack a,b,c source --label v1 --segment-size 1M

sequence() {
    json sequence mnt/.datasetfs/version
}

# served_anew SEQUENCE: the mount serves the version where it lies now
served_anew() {
    [ "$(sequence)" != "$1" ]
}

is_wider() {
    grep -q "'.*a' has 4 members now" daemon.log
}

say "under readers"
mount_volume a mnt -o follow=current:1
python3 "$LIB/killed.py" mnt source 600 >load.log 2>&1 &
LOAD=$!
end_process_at_exit $LOAD
before=$(sequence)
datasetfsctl member add a d >/dev/null || fail "add"
datasetfsctl member rebalance a >rebalance.log 2>&1 || fail "rebalance: $(cat rebalance.log)"
wait_for 60 is_wider || fail "the mount does not take the member in: $(cat daemon.log)"
wait_for 60 served_anew "$before" || fail "the mount does not follow: $(cat daemon.log)"
before=$(sequence)
datasetfsctl member drain a 1 >drain.log 2>&1 || fail "drain: $(cat drain.log)"
wait_for 60 served_anew "$before" || fail "the mount does not follow: $(cat daemon.log)"
touch stop
wait $LOAD || fail "readers noticed: $(cat load.log)"
mv b gone
compare source mnt
is_left() {
    is_member 1 state = left
}
wait_for 60 is_left || fail "its state is $(member 1 state)"
assert_contains "what status says" "$(datasetfsctl status mnt | head -n 1)" healthy
kill_server mnt
compare source mnt
wait_for 60 is_left || fail "for the next server its state is $(member 1 state)"
unmount mnt

say "a new mount"
: >daemon.log
mount_volume d mnt
compare source mnt
assert_eq "its state" "$(member 1 state)" left
! grep -q degraded daemon.log || fail "it is missed: $(cat daemon.log)"
assert_contains "what status says" "$(datasetfsctl status mnt | head -n 1)" healthy
unmount mnt
