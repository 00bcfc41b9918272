#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once
# Where the kernel cannot send requests again, a server that is killed may be kept from its end. By a device that hangs:
# what it had in hand waits until that answers, and the mount goes on. By its own store into the page cache, for a READ
# which it has taken: that would be for ever. The supervisor ends the mount, and nobody hangs.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/steps.sh"
need_fuse
is_root || skip "only root has stores"

mkdir source
for i in {0..9}; do head -c 20000 /dev/urandom >source/f$i; done
pack volume source
c_program lib/old_kernel -shared -fPIC -ldl
slow_device volume hangs 0 hangs.control
OLD_KERNEL=6.8 LD_PRELOAD=$PWD/old_kernel mount_volume hangs mnt -o io=threads,channel=dev
assert_eq "what survives" "$(json survives mnt/.datasetfs/stats.json)" mount
ls -l mnt >/dev/null
slow_control hangs.control hang
cat mnt/f1 >f1 2>f1.err & reader=$!
wait_for 20 grep -q "have waited 1 s" daemon.log || fail "no read waits for the device: $(cat daemon.log)"
old=$SERVER
kill_server mnt
wait_for 60 grep -q "a dead server, process $old, waits for a device" daemon.log || fail "not told: $(cat daemon.log)"
stat -f mnt >/dev/null || fail "the mount does not go on: $(cat daemon.log)"
kill -0 "$reader" || fail "a read did not wait for the device: $(cat f1.err)"
slow_control hangs.control 0
wait "$reader" || assert_contains "a read after the hang" "$(cat f1.err)" "Software caused connection abort"
wait_for 20 test ! -e "/proc/$old" || fail "the old process stays"
compare source mnt
unmount mnt

slow_device volume slow 1000000
export OLD_KERNEL=6.8 LD_PRELOAD=$PWD/old_kernel
mount_volume slow mnt -o io=threads,channel=dev,workers=1
unset LD_PRELOAD
assert_eq "what survives" "$(json survives mnt/.datasetfs/stats.json)" mount
ls -l mnt >/dev/null

# As in ahead-killed.sh, the store of a file that is announced meets its READ, which waits as the only worker reads
# another file. Here the worker then takes that READ, and is killed with it. It may take more than one attempt.
readers=()
attempt() {
    announce_file mnt "f$1"
    sleep 0.4
    cat "mnt/f$(($1 + 5))" >/dev/null & readers+=($!)
    sleep 0.1
    cat "mnt/f$1" >/dev/null & readers+=($!)
    for _ in {1..60}; do
        ! is_storing || break
        sleep 0.03
    done
    is_storing || return 1
    at_step READ k
    wait_for 20 passed_or_read "${readers[-1]}" || fail "no READ comes"
    passed READ && return
    rm -f steps/READ
    return 1
}

# passed_or_read READER: the server is killed with the READ, or the READ came before that step
passed_or_read() {
    passed READ || ! kill -0 "$1" 2>/dev/null
}
attempt 0 || attempt 1 || attempt 2 || attempt 3 || attempt 4 || skip "no store meets a READ"
for reader in "${readers[@]}"; do
    wait_end "$reader" || { abort_connection mnt; fail "a reader hangs: $(cat daemon.log)"; }
done
wait_end "$DAEMON" || fail "the supervisor goes on: $(cat daemon.log)"
! wait "$DAEMON" || fail "a mount that was ended is a success"
assert_contains "log" "$(cat daemon.log)" "a dead server cannot end, and its requests would wait for ever"
! is_mounted mnt || fail "it is mounted all the same"
