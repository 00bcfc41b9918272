#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once
# A server of a user crashes, and the kernel writes its core file to a disk that does not answer: another one serves
# meanwhile, and the core file is complete in the end.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_root # whose servers have no core files
need_mount
need_loop
need_command fusermount3 mkfs.ext4 fsfreeze python3
[ -e /etc/mtab ] || skip "no /etc/mtab, which fusermount3 reads"
[ -u "$(command -v fusermount3)" ] || skip "fusermount3 is not setuid here"
case $(cat /proc/sys/kernel/core_pattern) in
*[/\|]*) skip "core files do not go to the working directory: $(cat /proc/sys/kernel/core_pattern)" ;;
core*) ;;
*) skip "core files are called otherwise: $(cat /proc/sys/kernel/core_pattern)" ;;
esac
own_namespace
. "$LIB/steps.sh"
ulimit -c unlimited || skip "no core files here"
mknod -m 666 fuse c 10 229 || skip "cannot make a device"
mount --bind fuse /dev/fuse # ours alone
(as_user sh -c 'exec 3<>/dev/fuse') 2>/dev/null || skip "a user cannot open /dev/fuse here"

truncate -s 1G disk
mkfs.ext4 -q disk
loop_device disk
mkdir cores mnt
mount "$LOOP" cores
at_exit umount -l cores
mkdir source
echo content >source/file
ln -s file source/link
ln -s file source/other
pack volume source
mkdir -m 700 runtime # his sockets are not in /tmp, where fuse/client-user.sh looks at all of his
chown 65534 runtime
export XDG_RUNTIME_DIR=$PWD/runtime
chmod 777 . cores mnt steps
chmod 666 volume
# The build may lie where only root can look.
mkdir bin
cp "$(command -v datasetfs)" bin/
root=$PWD
user=(--reuid 65534 --regid 65534 --clear-groups)
# asks COMMAND…: as the user whose mount it is
asks() {
    setpriv "${user[@]}" "$@"
}
(cd cores && exec setpriv "${user[@]}" "$root/bin/datasetfs" -f "$root/volume" "$root/mnt") >daemon.log 2>&1 &
DAEMON=$!
end_daemon_at_exit $DAEMON mnt
wait_for 60 serves_or_ended 0 || fail "no mount: $(cat daemon.log)"
SERVER=$(server_of $DAEMON)
assert_eq "link" "$(asks readlink mnt/link)" file

fsfreeze --freeze cores
at_exit fsfreeze --unfreeze cores
(umask 0 && at_step READLINK a) # the user takes the letter
old=$SERVER
assert_eq "another link, from another server" "$(asks readlink mnt/other)" file
assert_eq "restarts" "$(asks cat mnt/.datasetfs/stats.json | json restarts)" 1
grep -q '^CoreDumping:[[:space:]]*1' "/proc/$old/status" || fail "the old server writes no core file"
grep -q "the server was killed by signal 6, another one serves" daemon.log || fail "the log: $(cat daemon.log)"
fsfreeze --unfreeze cores
wait_for 60 test ! -e "/proc/$old" || fail "the old server stays: $(cat daemon.log)"
python3 - cores/core* <<'P' || fail "the core file is not complete"
import struct
import sys

with open(sys.argv[1], "rb") as file:
    head = file.read(64)
    at, count = struct.unpack_from("<Q", head, 32)[0], struct.unpack_from("<H", head, 56)[0]
    file.seek(at)
    parts = [struct.unpack("<IIQQQQQQ", file.read(56)) for _ in range(count)]
    sys.exit(max(part[2] + part[5] for part in parts) > file.seek(0, 2))
P
asks fusermount3 -u mnt
wait_end $DAEMON || fail "the daemon stays"
wait $DAEMON || fail "the daemon ended with status $?"
