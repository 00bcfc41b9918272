#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan timeout=300
# A member of a mirrored volume does not answer while a program reads the volume by libdatasetfs itself: single reads,
# queues, large files and arenas go on with the other copies, no byte is wrong, and what the device writes late goes to
# memory that is nobody's. The handle is closed meanwhile. Without io_uring this cannot be.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

mkdir back
small_files source "${SEED:=$RANDOM}" 600 6
say "SEED=$SEED"
pack back/a,back/b source --protect mirror:2
for member in a b; do
    slow_device back/$member $member 2000 $member.control
done

# stuck WHERE CYCLES [closed]
stuck() {
    local rc=0
    "$DATASETFS_BUILD/tests/library/library-stuck" "$1" source b.control 2000 "${@:2}" >stuck.log 2>&1 || rc=$?
    [ $rc != 77 ] || skip "$(cat stuck.log)"
    [ $rc = 0 ] || fail "$*: $(cat stuck.log)"
    say "$*: $(cat stuck.log)"
}

stuck a,b "$(length 4 40)"
stuck a,b 0 closed
mount_volume a mnt
! is_root || stuck mnt "$(length 1 10)" # others may not read past it
unmount mnt
wait_for 20 grep -q '^hung=' b.control.log || fail "it did not hang"

# A member hangs, and a program begins: it does not wait for that member, whether the daemon knows of it by now or not.
say "programs that begin"
. "$LIB/client.sh"
slow_control b.control 2000
mount_volume a mnt
is_root || exit 0
export PATH=$DATASETFS_BUILD/tests/library:$PATH
cat >begins.py <<'END'
import multiprocessing
import datasetfs

def is_right(name):
    with open(f"source/{name}", "rb") as file:
        return datasetfs.read(f"mnt/{name}") == file.read()

assert is_right("1")
with multiprocessing.get_context("fork").Pool(2) as workers:
    assert all(workers.map(is_right, ["2", "3", "large1", "large2"]))
END
# begins: a new process by the library, one that nobody changed, and one of Python with workers, as a DataLoader has
begins() {
    WAY=direct timeout -s KILL 240 library-way mnt sums | sort | cmp - sums || fail "the library, $1"
    [ -e "$DATASETFS_BUILD/src/preload/libdatasetfs-preload.so" ] || return 0
    timeout -s KILL 240 datasetfs-run cat mnt/1 mnt/large1 | cmp - <(cat source/1 source/large1) || fail "unchanged, $1"
    PYTHONPATH=$DATASETFS_BUILD/root/usr/share/datasetfs/python timeout -s KILL 240 python3 begins.py ||
        fail "Python, $1"
}
# has_member CLIENT FILE: it has a descriptor of this member
has_member() {
    local process=CLIENT_$1
    readlink "/proc/${!process}/fd/"* | grep -qx "$PWD/$2"
}
# is_state STATE: of member b, after some reads of the device
is_state() {
    local file
    for file in mnt/1?; do dd if="$file" bs=1M iflag=direct status=none >/dev/null || return 1; done
    [ "$(stats mnt members.1.state)" = "$1" ]
}
WAY=direct library-way a,b sums | sort >sums
slow_control b.control hang
begins "before the daemon knows"
wait_for 60 is_state suspect
client it
told it "open mnt direct" "direct v1"
! has_member it b || fail "a member that does not answer was handed over"
has_member it a || fail "the member that answers was not handed over"
slow_control b.control 2000
wait_for 60 is_state ok
told it refresh 0
has_member it b || fail "the member that is well again was not handed over"
ask it quit

say "nobody answers"
for member in a b; do slow_control $member.control hang; done
! timeout -s KILL 240 datasetfsctl switch mnt v1 >switched 2>&1 || fail "a switch"
grep -q "no answer to a read for 5 seconds\|does not answer" switched || fail "why it does not switch: $(cat switched)"
for member in a b; do slow_control $member.control 2000; done
