#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=gcc timeout=400
# A server is killed while a thread of it sleeps in a store into the page cache, which waits for a READ that the server
# owes: another one answers that READ, readers go on, and the old process ends.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
is_root || skip "only root has RESEND and stores"
need_command python3

kills=$(length 3 100)
small_files source 29 400 0
pack volume source --label v1
slow_device volume slow 150000 slow.control
mount_volume slow mnt -o io=threads,channel=dev,workers=1
assert_eq "what survives" "$(stats mnt survives)" requests
ls -l mnt >/dev/null

# reads NUMBER: in the background; when that was right and over is in the file 'ends'
reads() {
    { cmp "source/$1" "mnt/$1" && echo "$EPOCHREALTIME" >>ends; } & readers+=($!)
}

# both_read: whether two threads of the server wait for the device
both_read() {
    [ "$(cat "/proc/$SERVER"/task/*/wchan 2>/dev/null | grep -o request_wait_answer | wc -l)" = 2 ]
}

# meets NUMBER: a store of that file meets its READ. The only worker reads another file, so the READ of the announced
# one waits in the kernel until it has been read ahead.
meets() {
    announce_file mnt "$1"
    reads $(($1 + 200))
    for _ in {1..10}; do
        ! both_read || break
        sleep 0.01
    done
    reads "$1"
    for _ in {1..40}; do
        ! is_storing || return 0
        sleep 0.01
    done
    return 1
}

# killed: the server is, while it stores. The device is fast before there is another one, for which alone readers wait.
killed() {
    local began=$EPOCHREALTIME
    kill -KILL "$SERVER"
    echo 0 >slow.control
    for reader in "${readers[@]}"; do
        wait_end "$reader" || fail "a reader hangs: $(cat daemon.log)"
    done
    sort ends | tail -n 1 | awk -v began="$began" '{ print $1 - began }' >>waits
    wait_for 20 test ! -e "/proc/$SERVER" || fail "a thread of the killed server stays: $(cat daemon.log)"
    slow_control slow.control 150000
    met=$((met + 1))
}
met=0
for ((try = 0; try < kills * 60 && met < kills; try++)); do
    readers=()
    : >ends
    [ $((try % 190)) != 0 ] || evict mnt
    ! meets $((try * 67 % 190)) || killed # not one after the other, which would be read ahead
    for reader in "${readers[@]}"; do
        wait_end "$reader" || fail "a reader hangs: $(cat daemon.log)"
        wait "$reader" || fail "a reader failed: $(cat daemon.log)"
    done
    SERVER=$(server_of "$DAEMON")
done
[ $met -gt 0 ] || skip "no store meets a READ"
say "$met servers were killed in a store; after it readers waited for $(sort -g waits | sed -n '1p;$p' | paste -sd -) s"
[ "$(stats mnt restarts)" -ge $met ] || fail "servers went on"
unmount mnt
