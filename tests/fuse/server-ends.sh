#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=gcc
# Other ends of a server than a kill: it stands still, memory runs out, a request crashes it, a worker spins; and the
# end of the mount while no server is there.
. "$(dirname "$0")/../lib/common.sh"
. "$LIB/steps.sh"
need_fuse
is_root || skip "only root has RESEND"
need_command python3

small_files source 29 40 1
ln -s 3 source/link
ln -s 4 source/other
pack volume source --label v1
cp -r source source2
echo "of the second version" >source2/second
pack volume source2 --label v2 --no-current

# Where a server has no processor for a second, it is replaced as well: hence 'at least' where the limits are so short.

say "it stands still"
DATASETFS_PATIENCE=1200 DATASETFS_BEAT=200 mount_volume volume mnt
kill -STOP "$SERVER"
cat mnt/3 >/dev/null || fail "a read of a server that stands still"
grep -q "the server does not respond, it is killed" daemon.log || fail "nobody noticed: $(cat daemon.log)"
more_than 0 || fail "no other server"
assert_eq "what stands still" "$(started "$SERVER")" ""
unmount mnt

say "it stands still in its takeover"
DATASETFS_PATIENCE=1200 DATASETFS_BEAT=200 mount_volume volume mnt
at_step session-kept s
kill_server mnt
more_than 1 || fail "$(restarts mnt) servers ended, expected the one that was killed and the next one"
unmount mnt

say "a request that crashes the server, twice"
# crash STEP COMMAND…: at that step the request of the command ends two servers, and then it fails. The kernel sends a
# request again twice: a copy that comes while another one ends the second server goes no further, and dies with it.
crash() {
    at_step "$1" laa
    ! "${@:2}" >out 2>&1 || fail "no error at '$1' of: ${*:2}"
    rm -f "$DATASETFS_STEPS/$1"
}
mount_volume volume mnt
crash READLINK readlink mnt/link
assert_eq "the other request" "$(readlink mnt/other)" 4
grep -q "crashed in the work on a request, which is answered EIO from now on, .*=READLINK.* times=2" daemon.log ||
    fail "no word of it: $(cat daemon.log)"
assert_eq "restarts" "$(restarts mnt)" 2
cmp source/large0 mnt/large0 || fail "other requests"
unmount mnt

# crashes STEP OPCODE COMMAND…: at that step, twice, and then the command fails; so it does again, without a crash
crashes() {
    local before said
    before=$(restarts mnt)
    said=$(grep -c "which is answered EIO from now on, .*=$2 .* times=2" daemon.log) || true
    crash "$1" "${@:3}"
    grep -q "Input/output error" out || fail "another error at '$1': $(cat out)"
    assert_eq "word of '$1'" "$(grep -c "which is answered EIO from now on, .*=$2 .* times=2" daemon.log)" $((said + 1))
    assert_eq "servers that ended at '$1'" "$(restarts mnt)" $((before + 2))
    ! "${@:3}" >out 2>&1 || fail "no error after '$1' of: ${*:3}"
    assert_eq "servers that ended after '$1'" "$(restarts mnt)" $((before + 2))
}
cat >another.py <<'END'
"""Reads all files but one, from the last to the first so that nothing is read ahead; until there is a file 'stop'."""
import itertools
import os

names = [name for name in os.listdir("source") if name not in ("5", "link", "other")]
names.sort(key=lambda name: -os.stat(f"mnt/{name}").st_ino)
for name in itertools.cycle(names):
    if os.path.exists("stop"):
        break
    with open(f"mnt/{name}", "rb") as file, open(f"source/{name}", "rb") as expected:
        assert file.read() == expected.read(), name
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
END
say "what a device returned crashes the server, and other work that a request waits for"
mount_volume volume mnt -o io=uring
python3 another.py 2>other.err & other=$!
end_process_at_exit $other
crashes "READ-resumed.$(stat -c %i mnt/5)" READ cat mnt/5
crashes command-checked IOCTL datasetfsctl switch mnt v2
crashes version-recorded LOOKUP stat mnt/.datasetfs/versions/v2
datasetfsctl switch mnt v2 --if-current v1 >/dev/null # not the command that crashed
cmp source2/second mnt/second
touch stop
wait $other || fail "another reader: $(cat other.err daemon.log)"
rm stop
unmount mnt

for step in READLINK READ-resumed; do
    say "a worker that spins at $step"
    DATASETFS_PULSE=1 DATASETFS_BEAT=200 mount_volume volume mnt -o io=uring
    [ $step = READLINK ] || step+=.$(stat -c %i mnt/3)
    before=$(grep -c "has been working on one request for 1 s, the server ends" daemon.log) || true
    at_step "$step" l
    assert_eq "the request that it had" "$(readlink mnt/link)" 3
    cmp source/3 mnt/3 || fail "the READ that it had"
    [ "$(grep -c "has been working on one request for 1 s, the server ends" daemon.log)" -gt "$before" ] ||
        fail "nobody noticed: $(cat daemon.log)"
    unmount mnt
done

say "signals and umount while no server is there"
# without_server: the server is dead, and its successor stands still before it serves
without_server() {
    at_step takeover-begun s
    kill -KILL "$SERVER"
    wait_for 20 passed takeover-begun || fail "no successor"
    SERVER=$(server_of "$DAEMON")
    wait_for 20 is_stopped "$SERVER" || fail "the successor does not stand still"
}
# ends STATUS: the daemon does, and the mount is gone
ends() {
    local rc=0
    wait_end "$DAEMON" || fail "the daemon runs on: $(cat daemon.log)"
    wait "$DAEMON" || rc=$?
    assert_eq "status of the daemon" $rc "$1"
    ! is_mounted mnt || fail "still mounted"
}
mount_volume volume mnt
without_server
kill -TERM "$DAEMON"
kill -CONT "$SERVER"
ends 0

mount_volume volume mnt
without_server
kill -TERM "$DAEMON"
sleep 0.1
kill -KILL "$SERVER" # it has the signal in its socket
ends 0

mount_volume volume mnt
without_server
command umount mnt & process=$!
sleep 0.2
kill -CONT "$SERVER"
wait $process || fail "umount without a server"
ends 0

mount_volume volume mnt
exec 5<mnt/large0
without_server
umount -l mnt
kill -CONT "$SERVER"
cmp source/large0 /dev/fd/5 || fail "a file that is open after umount -l"
exec 5<&-
ends 0
! grep -E "are lost|cannot" daemon.log || fail "see above"

say "memory that runs out"
group=/sys/fs/cgroup/memory/datasetfs-test-$$
limit=memory.limit_in_bytes
if [ ! -w /sys/fs/cgroup/memory/cgroup.procs ]; then
    group=/sys/fs/cgroup/datasetfs-test-$$ limit=memory.max
    grep -qsw memory /sys/fs/cgroup/cgroup.subtree_control || { say "no control groups for memory"; exit 0; }
fi
mkdir $group || { say "cannot make a control group"; exit 0; }
at_exit wait_for 10 rmdir $group
mount_volume volume mnt
echo "$SERVER" >$group/cgroup.procs
echo 1M >$group/$limit || true
for _ in {1..50}; do
    evict mnt
    cat mnt/* >/dev/null || fail "a reader when memory runs out"
    ! more_than 0 || break
done
more_than 0 || say "the limit kills nobody here: $(cat $group/$limit)"
compare source mnt
unmount mnt
