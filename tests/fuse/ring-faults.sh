#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain ring timeout=300
# FUSE over io_uring when the kernel wants a command again or refuses it:
# repeated, done without, or the mount ends with a reason and its readers with errors. Nobody hangs.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_root
need_command taskset

ring_switch Y || skip "FUSE over io_uring is missing or cannot be turned on"

cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/fault_ring.c" -o fault.so || fail "fault_ring.c does not compile"
tree random source --seed 21 --files 200
find source -type l -delete
chmod -R u+rwX source
pack volume source --compress auto
mkdir -p mnt
EAGAIN=11 EINTR=4 ENOMEM=12 EINVAL=22

# faulty COMMAND FROM TIMES EVERY ERROR COMMAND…: with these failing (see fault_ring.c)
faulty() {
    rm -f count
    : >daemon.log
    FAULT_COMMAND=$1 FAULT_FROM=$2 FAULT_TIMES=$3 FAULT_EVERY=$4 FAULT_ERROR=$5 FAULT_SLEEP=300 FAULT_COUNT=$PWD/count \
        LD_PRELOAD=$PWD/fault.so "${@:6}"
}

# idle: nothing is in work but the request for the counter
idle() {
    [ "$(stats mnt in_flight)" = 1 ]
}

# repeated COMMAND TIMES ERROR: every other command fails that often in all; nothing of it is seen from outside
repeated() {
    faulty "$1" 1 "$2" 2 "$3" mount_volume volume mnt -o channel=ring
    timeout 300 python3 "$LIB/compare.py" source mnt || fail "$1 with error $3: trees differ, or a reader hangs"
    drop_caches
    timeout 300 python3 "$DATASETFS_SOURCE/tests/fuse/concurrent.py" source mnt 128 200 ||
        fail "readers, $1 with error $3"
    # Files that are read ahead for nobody may still be on their way.
    wait_for 20 idle || fail "$1 with error $3: requests are left: $(cat mnt/.datasetfs/stats.json)"
    unmount mnt
    ! grep -i 'refuse' daemon.log || fail "$1 with error $3 is no refusal"
    [ "$(cat count)" -gt 10 ] || fail "only $(cat count) of '$1' failed"
    say "$1: $(cat count) times error $3, each repeated"
}

faulty register 1 1 1 $ENOMEM mount_volume volume mnt -o channel=ring
unmount mnt
[ "$(cat count)" = 1 ] || skip "a command cannot be made to fail here"
grep -q "refuses an entry of queue [0-9]* of FUSE over io_uring: Cannot allocate memory" daemon.log ||
    { grep -q "Invalid argument" daemon.log && skip "this kernel's NOP takes no result"; fail "$(cat daemon.log)"; }

repeated register 1000 $EAGAIN
repeated commit 1000000 $EINTR
if [ "$DATASETFS_FULL" = 1 ]; then
    repeated register 1000 $EINTR
    repeated commit 1000000 $EAGAIN
fi

# Fewer entries than there were to be.
faulty register 1 3 1 $ENOMEM mount_volume volume mnt -o channel=ring
compare source mnt
unmount mnt
say "without some entries"

# None: the mount is refused.
exits 32 faulty register 1 100000 1 $EINVAL timeout 120 datasetfs -f -o channel=ring volume mnt 2>refused.err
grep -q "cannot mount .*: queue [0-9]* of FUSE over io_uring has no entry left: Invalid argument" refused.err ||
    fail "without entries: $(cat refused.err)"
! is_mounted mnt || fail "a refused mount is there"
say "$(tail -n 1 refused.err)"

# A worker cannot have its ring (the first two are probes) while somebody is already inside: requests wait in the kernel
# for queues that will never be. Which worker that is differs, so a few times.
at_exit rm -f visits
for setup in 3 4 3 4 3 4; do
    touch visits
    (while [ -e visits ]; do timeout 60 stat mnt/nothing || true; done >/dev/null 2>&1) &
    visitor=$!
    rc=0
    faulty setup $setup 1 1 $ENOMEM \
        timeout --kill-after=5 120 datasetfs -f -o channel=ring,readahead=off,prefetch=off volume mnt 2>refused.err ||
            rc=$?
    rm visits
    assert_eq "status of a mount without a ring" $rc 32
    assert_eq "lines about it" "$(grep -c "cannot mount .*: worker [0-9]* did not start: io_uring_setup" refused.err)" 1
    wait_end $visitor || fail "who looked into the refused mount hangs"
    wait $visitor || true
    say "$(tail -n 1 refused.err)"
done

# A queue that runs dry under its readers: all of them on one CPU, and more than a queue has entries.
faulty commit 20 1000000 1 $EINVAL mount_volume volume mnt -o channel=ring
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
readers=()
for ((reader = 0; reader < 100; reader++)); do
    taskset -c "$cpu" stat "mnt/nothing$reader" >/dev/null 2>&1 &
    readers+=($!)
done
wait_end $DAEMON || fail "the daemon goes on with a queue that has no entry: $(cat daemon.log)"
exits 1 wait $DAEMON
grep -q "cannot go on: queue $cpu of FUSE over io_uring has no entry left: Invalid argument" daemon.log ||
    fail "no reason: $(cat daemon.log)"
for reader in "${readers[@]}"; do
    wait_end "$reader" || fail "a reader of the lost mount hangs"
done
wait
! is_mounted mnt || fail "the lost mount is still there"
say "$(grep 'cannot go on' daemon.log)"

# The same beside a healthy queue whose readers overlap, past the page cache of a slow device:
# its worker is never idle, and ends all the same.
read -r dry healthy < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0))[:2])')
if [ -z "$healthy" ] || ! [ -w /sys/fs/cgroup/blkio/cgroup.procs ]; then
    say "no second CPU, or no control group of version 1 for block devices"
    exit 0
fi
cat >overlap.py <<'END'
import mmap, os, sys, threading
path, cpu, ready = sys.argv[1], int(sys.argv[2]), sys.argv[3]
os.sched_setaffinity(0, {cpu})
READERS, PIECE = 8, 131072
first = threading.Barrier(READERS, action=lambda: open(ready, "w").close())
failed = []

def reader(number):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    size, at, buffer = os.fstat(fd).st_size, number * PIECE, mmap.mmap(-1, PIECE)
    os.preadv(fd, [buffer], at)
    first.wait()
    try:
        while True:
            at = (at + READERS * PIECE) % size
            os.preadv(fd, [buffer], at)
    except OSError as error:
        failed.append(error.errno)

threads = [threading.Thread(target=reader, args=(number,)) for number in range(READERS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit(len(failed) != READERS)
END
mkdir large
head -c 16M /dev/urandom >large/file
truncate -s 96M disk
loop_device disk
pack "$LOOP" large --compress none
FAULT_QUEUE=$dry faulty commit 20 1000000 1 $EINVAL mount_volume "$LOOP" mnt -o channel=ring
throttle $SERVER
throttle_reads 8000000
rm -f ready
taskset -c "$healthy" python3 overlap.py mnt/file "$healthy" ready 2>overlap.err &
reader=$!
wait_for 20 test -e ready || fail "the readers do not start: $(cat overlap.err)"
for ((visitor = 0; visitor < 100; visitor++)); do
    taskset -c "$dry" timeout 60 stat "mnt/nothing$visitor" >/dev/null 2>&1 &
done
wait_end $DAEMON || fail "readers of a healthy queue keep the daemon: $(cat daemon.log)"
exits 1 wait $DAEMON
grep -q "cannot go on: queue $dry of FUSE over io_uring" daemon.log || fail "no reason: $(cat daemon.log)"
wait_end $reader || fail "a reader of the healthy queue hangs"
exits 0 wait $reader
wait
say "$(grep 'cannot go on' daemon.log), readers of queue $healthy end with it"
