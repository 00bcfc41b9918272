#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon alone timeout=300
# .datasetfs/versions/LABEL while the device does not answer: a first visitor who is killed leaves no version open. The device
# is a loop device whose reads a control group holds back.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_loop
need_command lsblk
need_throttle

truncate -s 64M disk
loop_device disk
for i in 1 2; do
    mkdir source$i
    echo "in $i" >source$i/file
    pack "$LOOP" source$i --label v$i
done
versions=mnt/.datasetfs/versions

# waits: a request is in work, beside that for the counter
waits() {
    [ "$(stats mnt in_flight)" -gt 1 ]
}

idle() {
    [ "$(stats mnt in_flight)" = 1 ]
}

open_versions() {
    python3 -c 'import json; print(len(json.load(open("mnt/.datasetfs/stats.json"))["generations"]))'
}

one_open() {
    [ "$(open_versions)" = 1 ]
}

# Over the ring nothing is answered early.
mount_volume "$LOOP" mnt -o channel=dev,version=v1
throttle $DAEMON
throttle_reads 1
stat $versions/v2 >/dev/null 2>&1 &
victim=$!
wait_for 10 waits || fail "the look-up does not wait for the device"
kill -KILL $victim
wait_end $victim || fail "a killed visitor hangs with the device"
wait $victim 2>/dev/null || true
throttle_reads 0
wait_for 20 idle || fail "requests are left: $(cat mnt/.datasetfs/stats.json)"
wait_for 10 one_open || fail "a version stays open that nobody came to: $(cat mnt/.datasetfs/stats.json)"
unmount mnt
say "a killed first visitor"
