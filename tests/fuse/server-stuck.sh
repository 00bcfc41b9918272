#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=gcc timeout=400
# The device hangs while the server is killed again and again, so that its threads cannot end: whatever needs no device
# goes on at once, and reads wait for the device and get the right bytes. No request is lost with a thread that took it
# from the kernel and then sleeps for ever.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
is_root || skip "only root has RESEND"

kills=$(length 8 200)
small_files source 29 60 2
pack volume source --label v1
slow_device volume slow 0 slow.control

# asks: requests that need no device and are never answered by the kernel, until there is a file 'stop'
asks() {
    local count=0
    while [ ! -e stop ]; do
        stat -f mnt >/dev/null || return 1
        stat --cached=never mnt/7 >/dev/null || return 1
        count=$((count + 1))
    done
    echo $count >"asked.$1"
}

# reads NUMBER: one file, when it can
reads() {
    cmp "source/$1" "mnt/$1"
}

for io in uring threads; do
    say "io=$io"
    rm -f stop
    mount_volume slow mnt -o io=$io,channel=dev
    assert_eq "what survives" "$(stats mnt survives)" requests
    python3 "$LIB/hold_pages.py" mnt/large0 >held & holder=$! # the device could not give it again
    end_process_at_exit $holder
    wait_for 20 grep -q held held || fail "mnt/large0 is not held in memory"
    slow_control slow.control hang
    readers=()
    for number in {10..13}; do
        reads $number & readers+=($!)
    done
    askers=()
    for number in 1 2 3; do
        asks $number & askers+=($!)
    done
    old=()
    for ((i = 0; i < kills; i++)); do
        old+=("$SERVER")
        kill -KILL "$SERVER"
        cmp source/large0 mnt/large0 || fail "what is in the page cache"
        timeout 60 stat --cached=never mnt/8 >/dev/null || fail "a request that needs no device, after $i kills"
        SERVER=$(server_of "$DAEMON")
    done
    touch stop
    for process in "${askers[@]}"; do
        wait_end "$process" || fail "a request is lost: $(cat daemon.log)"
        wait "$process" || fail "a request failed"
    done
    for process in "${readers[@]}"; do
        kill -0 "$process" || fail "a read did not wait for the device: $(cat daemon.log)"
    done
    stuck=0
    for process in "${old[@]}"; do
        [ -z "$(started "$process")" ] && ! grep -qs '^State:.D' "/proc/$process"/task/*/status || stuck=$((stuck + 1))
    done
    say "$kills kills, $stuck processes do not end, $(cat asked.* | paste -sd ' ') requests"
    slow_control slow.control 0
    for process in "${readers[@]}"; do
        wait "$process" || fail "a read after the hang: $(cat daemon.log)"
    done
    for process in "${old[@]}"; do
        wait_for 20 test ! -e "/proc/$process" || fail "an old process stays"
    done
    compare source mnt
    kill $holder
    wait $holder || true
    rm held
    unmount mnt
done
