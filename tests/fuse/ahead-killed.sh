#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon once
# A server that is killed while it stores into the page cache ends all the same: the store waits for a READ that it will
# not answer, but another server does. A server without a supervisor stores nothing, so that its mount can end.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

mkdir source
for i in {0..9}; do head -c 20000 /dev/urandom >source/f$i; done
pack volume source --label v1
slow_device volume slow 1000000
mount_volume slow mnt -o io=threads,channel=dev,workers=1
ls -l mnt >/dev/null

# The only worker reads one file for a second, so the READ of the announced one waits in the kernel; when that file has
# been read ahead, its store waits for that READ. On a busy machine it may take more than one attempt.
readers=()
attempt() {
    announce_file mnt "f$1"
    sleep 0.4 # so long, that file comes later than the announced one
    cmp "source/f$(($1 + 5))" "mnt/f$(($1 + 5))" & readers+=($!)
    sleep 0.1
    cmp "source/f$1" "mnt/f$1" & readers+=($!)
    for _ in {1..60}; do
        is_storing && return
        sleep 0.03
    done
    return 1
}
attempt 0 || attempt 1 || attempt 2 || attempt 3 || attempt 4 || skip "no store meets a READ"
old=$SERVER
kill -KILL "$old"
for reader in "${readers[@]}"; do
    wait_end "$reader" || fail "a reader hangs whose server was killed: $(cat daemon.log)"
    wait "$reader" || fail "a reader fails whose server was killed: $(cat daemon.log)"
done
wait_end "$old" || fail "a thread of the killed server stays"
assert_eq "restarts" "$(stats mnt restarts)" 1
compare source mnt
unmount mnt

mount_volume slow mnt -o io=threads,channel=dev,workers=1
kill -KILL "$DAEMON"
wait_for 20 knows_or_ended "$SERVER" 0 || fail "it does not see that its supervisor has ended"
! attempt 0 || fail "it stores although nothing could end that"
cat mnt/f9 >/dev/null & readers=($!)
kill -KILL "$SERVER"
is_over() {
    ! grep -qs '^State:.[^Z]' "/proc/$SERVER"/task/*/status
}
wait_for 20 is_over || {
    abort_connection mnt
    fail "a thread of the killed server stays"
}
for reader in "${readers[@]}"; do
    wait_end "$reader" || fail "a reader of the dead mount hangs"
done
! cat mnt/f8 2>/dev/null || fail "the mount goes on without a server"
umount -l mnt
