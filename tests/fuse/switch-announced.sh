#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon channels in=tsan
# While the kernel still knows the names of the old version, .datasetfs/version does not speak of the new one: who
# waits for it there finds the new files. A listing of the root holds the switch back: what it writes to is a page of
# another mount, whose daemon stands still.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_command python3

mkdir source trap
for i in 1 2; do
    echo "in $i" >source/file
    pack volume source --label v$i --no-current
done
head -c 8192 /dev/urandom >trap/page
pack trap.dsfs trap --compress none
mount_volume trap.dsfs slow
slow=$DAEMON
trap=$SERVER
mount_volume volume mnt -o version=v1
# A process that stands still cannot end.
at_exit kill -CONT "$slow" "$trap"
kill -STOP "$slow" # it would replace the server

label() {
    json label mnt/.datasetfs/version
}

is_current() {
    [ "$(stats mnt generation.sequence)" = 2 ]
}

cat >list.py <<'END'
import ctypes, mmap, os, signal, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.getdents64.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
libc.getdents64.restype = ctypes.c_ssize_t
root = os.open("mnt", os.O_RDONLY)
page = mmap.mmap(os.open("slow/page", os.O_RDONLY), 8192, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
trap = int(sys.argv[1])
os.kill(trap, signal.SIGSTOP)
# One of its threads has to run before the others stand still.
while any(open(f"/proc/{trap}/task/{thread}/stat").read().rpartition(")")[2].split()[0] != "T"
          for thread in os.listdir(f"/proc/{trap}/task")):
    time.sleep(0.01)
print("stopped", flush=True)
got = libc.getdents64(root, address, 8192)
sys.exit(got <= 0 and f"getdents64: {os.strerror(ctypes.get_errno())}")
END
# Held, so that no look-up in the root is needed.
exec 5<mnt/.datasetfs 6<mnt/file
python3 list.py "$trap" >list.out 2>list.err &
lister=$!
wait_for 20 test -s list.out || fail "no listing: $(cat list.err)"
# stands: it waits for the page, inside the listing (proc_pid_stack(5), where the kernel shows it)
stands() {
    grep -q '^State:.D' /proc/$lister/status &&
        { ! grep -q . /proc/self/stack || grep -q iterate_dir /proc/$lister/stack; }
}
wait_for 20 stands || fail "the listing does not wait: $(cat list.err)"
datasetfsctl switch mnt v2 >switch.out 2>&1 &
switcher=$!
wait_for 20 is_current || fail "the switch does not begin: $(cat switch.out)"
assert_eq "the version while the kernel is told" "$(label)" v1
assert_eq "a file while the kernel is told" "$(cat mnt/file)" "in 1"
kill -0 $switcher || fail "the switch was not held back: $(cat switch.out)"
kill -CONT "$slow" "$trap"
wait $switcher || fail "switch: $(cat switch.out)"
wait $lister || fail "$(cat list.err)"
assert_eq "the version after the switch" "$(label)" v2
assert_eq "a file after the switch" "$(cat mnt/file)" "in 2"
exec 5<&- 6<&-
unmount mnt
umount slow
wait_end "$slow" || fail "the other daemon runs on"
