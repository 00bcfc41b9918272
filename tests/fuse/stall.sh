#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon ring in=tsan timeout=300
# A device that does not answer: reads wait and the log says so; killed readers end, those past the page cache too,
# which the kernel does not interrupt; at the deadline reads fail with EIO, what needs no device works, and when the
# device answers again nothing of it can be seen. The device is a loop device whose reads a control group holds back.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_loop
need_throttle

channels=("dev,io=uring" "dev,io=threads")
if ring_switch Y; then channels+=(ring); fi

truncate -s 64M disk
loop_device disk
mkdir source
for i in {0..9}; do head -c $((100000 + i * 7777)) /dev/urandom >source/f$i; done
pack "$LOOP" source --compress none

# reader FILE: a cold read of a file in the background; its exit status comes to FILE.rc
reader() {
    (rc=0; cat "mnt/$1" >"$1.got" 2>"$1.err" || rc=$?; echo $rc >"$1.rc") &
}

told() {
    grep -qF -- "$1" daemon.log
}

# reads_waiting N: N more reads were sent to the device than before the stall.
reads_waiting() {
    [ "$(stats mnt device_reads)" -ge $((before + $1)) ]
}

was_interrupted() {
    [ "$(stats mnt interrupted)" -gt 0 ]
}

for channel in "${channels[@]}"; do
    : >daemon.log
    rm -f ./*.rc ./*.got
    # However long this takes on a busy machine, it is no deadline that ends the stall.
    mount_volume "$LOOP" mnt -o channel=$channel,deadline=300
    throttle $SERVER
    cmp source/f0 mnt/f0 || fail "f0 before the stall"
    assert_eq "stalled_since before a stall" "$(stats mnt stalled_since)" 0

    before=$(stats mnt device_reads)
    throttle_reads 1
    reader f1
    python3 -c 'import sys; open("mnt/f2", "rb").read()' 2>/dev/null &
    victim=$!
    wait_for 60 reads_waiting 2 || fail "not both reads wait for the device: $(cat mnt/.datasetfs/stats.json)"
    wait_for 10 told "device reads of '$LOOP' have waited 1 s" || fail "no line about the stall: $(cat daemon.log)"
    ls -l mnt >/dev/null
    [ "$(stats mnt stalled_since)" -gt 0 ] || fail "the stall is not in stats.json"
    kill -KILL $victim
    wait_end $victim || fail "a killed reader hangs with the device"
    wait $victim 2>/dev/null || true
    # Over the ring nothing is answered early.
    if [ $channel != ring ]; then
        dd if=mnt/f5 of=f5.got bs=1M iflag=direct 2>/dev/null &
        victim=$!
        wait_for 60 reads_waiting 3 || fail "no direct read: $(cat mnt/.datasetfs/stats.json)"
        kill -TERM $victim
        wait_for 10 was_interrupted || fail "a direct read is not answered: $(cat mnt/.datasetfs/stats.json)"
        wait_end $victim || fail "a reader past the page cache hangs with the device"
        wait $victim 2>/dev/null || true
    fi
    throttle_reads 0
    wait_for 20 test -s f1.rc || fail "the reader hangs after the stall: $(cat daemon.log)"
    assert_eq "status of a reader over a stall" "$(cat f1.rc)" 0
    cmp source/f1 f1.got || fail "f1 after the stall"
    wait_for 10 told "no device read of '$LOOP' waits any more, after" ||
        fail "no line when reads go on: $(cat daemon.log)"
    assert_eq stalls "$(stats mnt stalls)" 1
    assert_eq "stalled_since after the stall" "$(stats mnt stalled_since)" 0
    unmount mnt

    mount_volume "$LOOP" mnt -o channel=$channel,deadline=6
    throttle $SERVER
    cmp source/f0 mnt/f0 || fail "f0 before the deadline"
    rm -f held
    python3 "$LIB/hold_pages.py" mnt/f0 >held &
    holder=$!
    wait_for 10 test -s held || fail "cannot hold the pages of f0"
    throttle_reads 1
    reader f3
    reader f4
    wait_for 60 test -s f3.rc -a -s f4.rc || fail "no end at the deadline: $(cat daemon.log)"
    assert_eq "status at the deadline" "$(cat f3.rc) $(cat f4.rc)" "1 1"
    assert_contains "the reason" "$(cat f3.err)" "Input/output error"
    # Over the ring these requests may get into the memory that the device still has.
    if [ $channel != ring ]; then
        ls -l mnt >/dev/null
        cmp source/f0 mnt/f0 || fail "the page cache during the stall"
    fi
    kill -TERM $holder
    wait $holder 2>/dev/null || true
    throttle_reads 0
    wait_for 20 sh -c '[ "$(python3 "$LIB/json_value.py" in_flight mnt/.datasetfs/stats.json)" = 1 ]' ||
        fail "requests are left: $(cat mnt/.datasetfs/stats.json)"
    for i in {0..9}; do cmp source/f$i mnt/f$i || fail "f$i after the deadline"; done
    [ "$(stats mnt read_failures)" -ge 2 ] || fail "failures at the deadline are not counted"
    compare source mnt
    unmount mnt
    say "channel=$channel"
done
