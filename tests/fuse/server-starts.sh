#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon plain in=gcc
# A successor starts although groups were removed or io_uring is refused since the mount, drops the descriptors of
# workers that it does not have, and keeps the texts of files of .datasetfs; the ways out of a mount that no server can
# take over.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_command cc taskset python3
is_root || skip "only root has RESEND"
own_namespace
. "$LIB/steps.sh"

small_files source 31 20 1
pack volume source --label v1

# fails_to_start: from now on no server comes up
fails_to_start() {
    at_step takeover-begun "$(printf 'a%.0s' {1..200})"
    kill -KILL "$SERVER"
    wait_for 20 grep -q "before it served, the next one starts in 160 ms" daemon.log || fail "a server starts"
}
# ends STATUS: the daemon does
ends() {
    local rc=0
    wait_end "$DAEMON" || fail "the daemon runs on: $(cat daemon.log)"
    wait "$DAEMON" || rc=$?
    assert_eq "status of the daemon" $rc "$1"
    rm -f "$DATASETFS_STEPS/takeover-begun" daemon.log
}

say "a signal, while no server can start"
mount_volume volume mnt
cat mnt/3 >/dev/null
fails_to_start
kill -TERM "$DAEMON"
ends 1
umount mnt || fail "umount(8) of what is left"

say "an unmount, while no server can start"
mount_volume volume mnt
fails_to_start
umount --lazy mnt || fail "umount --lazy"
ends 0
! is_mounted mnt || fail "still mounted"

say "a signal that the next server acts on"
mount_volume volume mnt
fails_to_start
rm -f "$DATASETFS_STEPS/takeover-begun"
kill -TERM "$DAEMON"
ends 0
! is_mounted mnt || fail "still mounted"

say "an io_uring that is refused"
cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/fault_ring.c" -o fault.so || fail "fault_ring.c does not compile"
FAULT_COMMAND=setup FAULT_FROM=1 FAULT_TIMES=1000 FAULT_ERROR=1 FAULT_WHILE=$PWD/refused LD_PRELOAD=$PWD/fault.so \
    mount_volume volume mnt -o io=uring
assert_eq "reads of the first server" "$(stats mnt io)" uring
touch refused
kill_server mnt
assert_eq "reads of the second server" "$(stats mnt io)" threads
compare source mnt
unmount mnt

say "files of .datasetfs that are open"
mount_volume volume mnt
for file in stats.json metrics versions.json version damage; do
    exec 5<mnt/.datasetfs/$file
    sizes+=("$file $(stat -L -c %s /dev/fd/5)")
    kill_server mnt
    sizes+=("$file $(wc -c <&5)")
    exec 5<&-
    assert_eq "bytes of '$file' after a takeover" "${sizes[-1]}" "${sizes[-2]}"
done
python3 - "$DAEMON" <<'END' || fail "a text of two servers"
import json, os, subprocess, time
file = open("mnt/.datasetfs/stats.json")
before = file.read(1)  # as much as a page is cached
file.seek(0)
restarts = json.load(open("mnt/.datasetfs/stats.json"))["restarts"]
os.kill(json.load(open("mnt/.datasetfs/stats.json"))["server_pid"], 9)
assert json.load(open("mnt/.datasetfs/stats.json"))["restarts"] == restarts + 1
os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
assert json.load(file)["restarts"] == restarts
END
unmount mnt

say "fewer workers than the former server had"
# kept: the supervisor's descriptors of the connection: one, and one for each worker
kept() {
    find "/proc/$DAEMON/fd" -lname /dev/fuse | wc -l
}
kept_are() {
    [ "$(kept)" = "$1" ]
}
mount_volume volume mnt -o io=threads
first=$(kept)
taskset -a -p -c "$(taskset -c -p $DAEMON | sed 's/.*: //; s/[-,].*//')" "$DAEMON" >/dev/null
kill_server mnt
fewer=$((1 + $(stats mnt workers)))
say "$first descriptors, then $fewer"
if [ "$fewer" -lt "$first" ]; then # there are two CPUs
    wait_for 20 kept_are "$fewer" || fail "$(kept) descriptors are kept, expected $fewer; the first server had $first"
fi
compare source mnt
unmount mnt

can_mount || { say "no right to mount a file with other groups"; exit 0; }
say "groups that were removed"
cp /etc/group groups
echo "datasetfs-gone:x:4747:" >>groups
mount --bind groups /etc/group
mount_volume volume mnt -o control_group=datasetfs-gone,direct_group=datasetfs-gone
grep -v datasetfs-gone groups >kept
cat kept >groups
! getent group datasetfs-gone >/dev/null || fail "the group is still there"
kill_server mnt
assert_eq "servers that died" "$(restarts mnt)" 1
assert_eq "the group's number" "$(stats mnt options.control_group)" 4747
compare source mnt
unmount mnt
umount /etc/group
