#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon timeout=300
# Reads that wait for others: users of a mount take turns, and two mounts share a busy device evenly, however many
# threads read each. Over /dev/fuse without io_uring a worker takes one request, and the kernel keeps the others in the
# order in which they came.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_command python3

mkdir source
for i in {0..399}; do head -c 8000 /dev/urandom >source/$i; done
pack volume source --compress none

say "wrong values"
assert_fails 2 "mount option 'max_iops': '0'" datasetfs -o max_iops=0 volume mnt
assert_fails 2 "mount option 'max_iops': 'many'" datasetfs -o max_iops=many volume mnt
assert_fails 2 "mount option 'max_bandwidth': '1K'" datasetfs -o max_bandwidth=1K volume mnt
assert_fails 2 "mount option 'window': 'maybe'" datasetfs -o window=maybe volume mnt

cat >reader.py <<'END'
# reader.py NAME THREADS FILE…: each thread reads files and adds NAME to the file 'order' for each. It begins when
# 'NAME.go' is there, which 'NAME.ready' waits for.
import os, sys, threading
name, threads, files = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
order = os.open("order", os.O_WRONLY | os.O_APPEND)
lock = threading.Lock()

def read():
    while True:
        with lock:
            if not files:
                return
            end = os.open(files.pop(0), os.O_RDONLY)
        assert len(os.pread(end, 8000, 0)) == 8000
        os.posix_fadvise(end, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(end)
        os.write(order, name.encode() + b"\n")

os.mkfifo(name + ".go")
open(name + ".go").read()
all = [threading.Thread(target=read) for _ in range(threads)]
for thread in all: thread.start()
for thread in all: thread.join()
END

# reader NAME THREADS FILES…: in the background; it waits for 'go NAME'
READERS=()
reader() {
    python3 reader.py "$@" &
    READERS+=($!)
}

go() {
    wait_for 60 test -p "$1.go"
    : >"$1.go"
}

holds() {
    [ "$(stats mnt in_flight)" -ge "$1" ]
}

say "users take turns"
if is_root; then
    chmod 777 .
    : >order
    chmod 666 order
    mount_volume volume mnt -o io=uring,channel=dev,workers=1,max_iops=1,readahead=off,prefetch=off
    reader many 6 mnt/{0..59}
    as_user python3 reader.py few 2 mnt/1{0,1} &
    READERS+=($!)
    wait_for 60 test -p few.go
    go many
    wait_for 60 holds 4 || fail "the first user's reads do not wait: $(stats mnt in_flight)"
    go few
    wait_for 120 eval '[ "$(grep -c few order)" = 2 ]' || fail "read: $(paste -sd " " order)"
    echo "read: $(paste -sd " " order)"
    [ "$(grep -c many order)" -lt 60 ] || fail "the second user's two reads came after all of the first one's"
    [ "$(stats mnt held_reads)" -ge 4 ] || fail "held: $(stats mnt held_reads)"
    kill "${READERS[0]}" 2>/dev/null || true
    wait "${READERS[@]}" 2>/dev/null || true
    unmount mnt
fi

need_loop
need_throttle
say "two mounts share a device"
loop_device volume --direct-io=on --read-only
for name in heavy light; do
    mount_volume "$LOOP" $name -o readahead=off,prefetch=off
    throttle "$SERVER"
done
find heavy light -type f | wc -l
rm -f ./*.go
: >order
throttle_reads 800000
for _ in {1..9}; do set -- "$@" heavy/{0..399}; done
reader heavy 32 "$@"
reader light 8 "${@/heavy/light}"
go heavy
wait_for 120 eval '[ "$(stats heavy held_reads)" -gt 100 ]' || fail "no reads wait: $(stats heavy held_reads)"
go light
wait_for 60 grep -q light order || fail "the second mount's readers do not begin"
: >order # from now on
wait_for 120 eval '[ $(wc -l <order) -ge 300 ]' || fail "only $(wc -l <order) reads"
light=$(grep -c light order)
heavy=$(grep -c heavy order)
echo "8 threads: $light reads, 32 threads: $heavy"
# By threads it were a quarter, and with equal windows less than two thirds and more than one.
[ $((light * 3)) -ge "$heavy" ] || fail "8 threads have $light reads beside $heavy of 32"
throttle_reads 0
kill "${READERS[@]}" 2>/dev/null || true # those that have not ended
