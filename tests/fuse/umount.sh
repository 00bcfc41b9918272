#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke plain
# umount(8) returns when the daemon has closed the volume: the filesystem that it lies on can be unmounted at once.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_loop
need_fuse
need_command mkfs.ext4 unshare
need_filesystem overlay

for helper in umount.datasetfs umount.fuse.datasetfs; do
    assert_eq "$helper" "$(readlink "$DATASETFS_BUILD/root/sbin/$helper")" /usr/bin/datasetfs
done
c_program lib/stop_at_close -shared -fPIC -ldl
truncate -s 64M image
mkfs.ext4 -q image
loop_device image
mkdir below mnt other plain source work
head -c 300000 /dev/urandom >source/file
mount "$LOOP" below
pack below/volume source
umount below

# umount(8) looks for helpers in /sbin: they are put there in a mount namespace of our own,
# as is what it notes in /run/mount.
cat >inside.sh <<'END'
. "$DATASETFS_SOURCE/tests/lib/common.sh"
mount -t tmpfs none work
mkdir -p work/upper work/work /run/mount
mount -t tmpfs none /run/mount
mount -t overlay overlay -o "lowerdir=$(readlink -f /sbin),upperdir=work/upper,workdir=work/work" "$(readlink -f /sbin)"
for helper in umount.datasetfs umount.fuse.datasetfs; do
    ln -sf "$(command -v datasetfs)" /sbin/$helper
done
mount "$LOOP" below
export STOP_AT_CLOSE=$PWD/below/volume STOP_WHILE=$PWD/armed

# serve: a daemon whose processes stop before they close the volume, while the file "armed" is there
serve() {
    rm -f armed
    export LD_PRELOAD=$PWD/stop_at_close
    mount_volume below/volume mnt
    unset LD_PRELOAD
    end_process_at_exit $DAEMON
    at_exit goes_on
}

# stands: both of its processes are about to close the volume
stands() {
    is_stopped $SERVER && is_stopped $DAEMON
}

goes_on() {
    kill -CONT $DAEMON $SERVER
}

# waits PATH [OPTIONS…]: umount(8) of this path does
waits() {
    local umount
    serve
    touch armed
    umount "${@:2}" "$1" >umount.out 2>&1 &
    umount=$!
    wait_for 20 stands || fail "the daemon does not close the volume"
    ! is_mounted mnt || fail "the volume is closed and still mounted"
    kill -0 $umount || fail "umount $*: it did not wait: $(cat umount.out)"
    ! command umount below 2>/dev/null || fail "the volume is open, but what it lies on can be unmounted"
    goes_on
    wait $umount || fail "umount $*: $(cat umount.out)"
    umount below || fail "umount $*: the volume is open still"
    mount "$LOOP" below
    wait $DAEMON || fail "the daemon: $(cat daemon.log)"
}

waits mnt
# Names that anybody can take: nothing depends on them.
serve
number=$(mountpoint -d mnt)
folder=$(stat -c %i -L "/sys/class/bdi/$number")
umount "$PWD/mnt"
setpriv --reuid 65534 --regid 65534 --clear-groups python3 - "${number#*:}" "$folder" >taken 2>&1 <<'CODE' &
import socket, sys, time
held = []
for minor in range(max(1, int(sys.argv[1]) - 20), int(sys.argv[1]) + 20):
    for end in range(int(sys.argv[2]), int(sys.argv[2]) + 20):
        held.append(socket.socket(socket.AF_UNIX))
        try:
            held[-1].bind(f"\0datasetfs/0:{minor}/{end}")
            held[-1].listen()
        except OSError:
            pass  # somebody else has it
print("taken", flush=True)
time.sleep(1000)
CODE
taker=$!
wait_for 20 grep -q taken taken || fail "$(cat taken)"
waits "$PWD/mnt"
kill $taker
waits "$PWD/mnt" -f -v
assert_contains "umount -v" "$(cat umount.out)" "unmounted"
assert_eq "notes of mounts" "$(cat /run/mount/utab)" ""

# The number of its device is the next mount's while the daemon is still ending: umount(8) waits for the next one alone.
pack plain.volume source
serve
number=$(mountpoint -d mnt)
touch armed
umount -i mnt
wait_for 20 stands || fail "the daemon does not close the volume"
before=(/run/datasetfs/"$number":*.socket) # killed daemons leave some
datasetfs plain.volume other
if [ "$(mountpoint -d other)" = "$number" ]; then
    sockets=(/run/datasetfs/"$number":*.socket)
    assert_eq "sockets of both daemons" ${#sockets[@]} $((${#before[@]} + 1))
else
    say "another mount was faster and has the number: left out"
fi
umount other 2>umount.err || fail "umount of the next mount: $(cat umount.err)"
assert_eq "what umount says of the next mount" "$(cat umount.err)" ""
wait_for 20 has_no_daemon other || fail "the daemon of the next mount runs on"
stands || fail "the daemon of the first mount went on"
goes_on
wait $DAEMON || fail "the daemon: $(cat daemon.log)"

# Lazily, and while the filesystem is mounted elsewhere, nothing is waited for.
serve
exec 5<mnt/file
umount -l "$PWD/mnt"
! is_mounted mnt || fail "umount -l did nothing"
cmp source/file - <&5 || fail "the file that was open"
exec 5<&-
wait_end $DAEMON || fail "the daemon runs on after the last user"
serve
mount --bind mnt other
umount "$PWD/mnt" 2>umount.err || fail "umount: $(cat umount.err)"
assert_eq "what umount says" "$(cat umount.err)" ""
cmp source/file other/file
umount other
wait_end $DAEMON || fail "the daemon runs on after the last mount"

# A signal unmounts too, and leaves no note.
serve
kill -TERM $DAEMON
wait_end $DAEMON || fail "the daemon runs on after SIGTERM"
assert_eq "notes of mounts" "$(cat /run/mount/utab)" ""

# A daemon that hangs is not asked, so it is not in the way.
serve
kill -STOP $SERVER
wait_for 20 is_stopped $SERVER
umount "$PWD/mnt" >umount.out 2>&1 &
umount=$!
is_gone() {
    ! is_mounted mnt
}
wait_for 20 is_gone || fail "umount of a mount that hangs: $(cat umount.out)"
kill -CONT $SERVER
wait $umount || fail "umount of a mount that hung: $(cat umount.out)"
wait_end $DAEMON || fail "the daemon runs on after it went on"

# The helper by itself.
mount -t tmpfs none plain
/sbin/umount.datasetfs plain -t fuse.datasetfs || fail "the helper does not unmount something else"
! is_mounted plain || fail "it is still mounted"
assert_fails 32 "not mounted" /sbin/umount.datasetfs plain
assert_fails 1 "expected MOUNTPOINT, found 0" /sbin/umount.datasetfs
umount below
END
export LOOP
"$LIB/mount-namespace" bash inside.sh
