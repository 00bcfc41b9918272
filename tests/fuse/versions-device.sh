#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon ring in=tsan timeout=300
# .datasetfs/versions/LABEL while the device does not answer, or gives errors: who is in an open version, and who comes
# to it, does not notice; a first visitor who is killed leaves no version open. The device is a loop device whose reads
# a control group holds back, or whose file is cut off.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_loop
need_throttle

truncate -s 64M disk
loop_device disk
for i in 1 2 3; do
    mkdir source$i
    echo "in $i" >source$i/file
    pack "$LOOP" source$i --label v$i
done
cp disk kept
versions=mnt/.datasetfs/versions
channels=("dev,io=uring" "dev,io=threads")
if ring_switch Y; then channels+=(ring); fi

# waits COUNT: so many requests are in work, beside that for the counter
waits() {
    [ "$(stats mnt in_flight)" -gt "$1" ]
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
throttle $SERVER
throttle_reads 1
stat $versions/v2 >/dev/null 2>&1 &
victim=$!
wait_for 10 waits 1 || fail "the look-up does not wait for the device"
kill -KILL $victim
wait_end $victim || fail "a killed visitor hangs with the device"
wait $victim 2>/dev/null || true
throttle_reads 0
wait_for 20 idle || fail "requests are left: $(cat mnt/.datasetfs/stats.json)"
wait_for 10 one_open || fail "a version stays open that nobody came to: $(cat mnt/.datasetfs/stats.json)"
unmount mnt
say "a killed first visitor"

# visitor NUMBER: of v1 by its label; its exit status comes to NUMBER.rc
visitor() {
    (rc=0; stat $versions/v1/file >"$1.out" 2>&1 || rc=$?; echo $rc >"$1.rc") &
}

# came COUNT: so many visitors have ended
came() {
    [ "$(find . -maxdepth 1 -name '*.rc' -size +0 | wc -l)" -ge "$1" ]
}

# one_busy: a look-up was refused; the files come one by one
one_busy() {
    grep -q "Device or resource busy" x*.out
}

for channel in "${channels[@]}"; do
    rm -f ./*.rc x*.out
    : >daemon.log
    mount_volume "$LOOP" mnt -o channel=$channel,version=v2
    throttle $SERVER
    cmp source1/file $versions/v1/file || fail "v1"
    exec 5<$versions/v1
    asked=$(stats mnt requests.LOOKUP)
    python3 -c 'import os, sys; [os.stat(sys.argv[1]) for _ in range(20)]' $versions/v1
    [ $(($(stats mnt requests.LOOKUP) - asked)) -lt 20 ] || fail "the kernel asks what a label is each time"
    expire $versions v1

    # More look-ups than can wait, of other labels.
    throttle_reads 1
    others=()
    for i in {1..70}; do
        stat $versions/x$i >x$i.out 2>&1 &
        others+=($!)
    done
    wait_for 20 one_busy || fail "70 look-ups can wait: $(cat x*.out)"
    for i in 1 2 3; do visitor $i; done
    wait_for 20 came 3 || fail "visitors of an open version wait for those of others"
    assert_eq "how visitors ended while look-ups waited" "$(cat ./*.rc | sort -u)" 0
    throttle_reads 0
    wait "${others[@]}" 2>/dev/null || true
    rm -f ./*.rc
    expire $versions v1

    # One look-up of another version: one visitor of v1 waits behind it, for all.
    throttle_reads 1
    stat $versions/v3 >/dev/null 2>&1 &
    first=$!
    wait_for 10 waits 1 || fail "the look-up does not wait for the device"
    for i in {1..30}; do visitor $i; done
    wait_for 20 came 29 || fail "visitors of an open version wait for the device"
    wait_for 20 waits 2 || fail "no visitor of an open version asks what its label is"
    throttle_reads 0
    wait_for 20 came 30 || fail "a visitor hangs after the stall"
    assert_eq "how visitors of an open version ended" "$(cat ./*.rc | sort -u)" 0
    wait $first || fail "the first visitor of v3 fails after the stall"

    cmp source1/file $versions/v1/file || fail "v1 after the stall"
    expire $versions v1
    : >disk
    blockdev --flushbufs "$LOOP"
    assert_fails 1 "Input/output error" stat $versions/v9
    cmp source1/file $versions/v1/file || fail "an open version while the device gives errors: $(cat daemon.log)"
    grep -q "cannot check whether '.datasetfs/versions/v1' is still the open version: .*, ignoring" daemon.log ||
        fail "no line about the label: $(cat daemon.log)"
    cp kept disk
    blockdev --flushbufs "$LOOP"
    assert_fails 1 "No such file" stat $versions/v9
    exec 5<&-
    unmount mnt
    say "visitors of an open version, channel=$channel"
done
