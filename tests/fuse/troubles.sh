#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain
# The most frequent troubles: each is made to happen, its message is compared word by word, and datasetfs(7),
# TROUBLESHOOTING, lists these messages and no other ones.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_mount
need_loop
need_command cc setpriv python3

# seen: what can be listed, with numbers as N. The names of what is used here are those of the page.
: >messages
seen() {
    sed -E -e "s|$PWD/||g" -e 's|/dev/loop[0-9]+|/dev/DISK|g' \
        -e 's/[0-9.]+ [KMG]iB/N MiB/g' -e 's/[0-9]+ bytes/N bytes/' \
        -e 's/user [0-9]+/user N/g' \
        -e "s/process [0-9]+ \('[^']*'/process N ('PROGRAM'/" -e 's/FUSE 7.26/FUSE N/' <<<"$1" >>messages
}

# trouble STATUS MESSAGE COMMAND…: that status, and this line alone; * in it is anything
trouble() {
    local status=$1 message=$2 rc=0 found
    shift 2
    "$@" >trouble.out 2>trouble.err </dev/null || rc=$?
    found=$(cat trouble.err)
    assert_eq "status of: $*; it said: $found" $rc "$status"
    # shellcheck disable=SC2053
    [[ $found == $message ]] || fail "$* said: $found; expected: $message"
    seen "$found"
}

# inside SCRIPT: in a mount namespace of its own; trouble() is there
inside() {
    cat >inside.sh
    "$LIB/mount-namespace" bash -c ". \"$LIB/common.sh\"; $(declare -f seen trouble as_nobody); . ./inside.sh" ||
        fail "line ${BASH_LINENO[0]}: $(cat trouble.err)"
}

# The build may lie where only root can look.
mkdir bin
cp "$(command -v datasetfs)" bin/
chmod 755 . bin
as_nobody() {
    setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all env PATH="$PWD/bin:$PATH" "$@"
}

mkdir SOURCE MOUNTPOINT
echo one >SOURCE/file
chmod 777 MOUNTPOINT
pack VOLUME SOURCE --label v1 --segment-size 1M
chmod 644 VOLUME
mount=(datasetfs -o channel=dev VOLUME MOUNTPOINT)
cannot="datasetfs: cannot mount 'VOLUME' on 'MOUNTPOINT':"
unset container KUBERNETES_SERVICE_HOST
in_container=
[ ! -e /.dockerenv ] && [ ! -e /run/.containerenv ] && [ ! -e /run/systemd/container ] || in_container=yes

say "no /dev/fuse, and a container without it"
modprobe="'modprobe fuse' loads the kernel's FUSE driver"
device="start it with '--device /dev/fuse --cap-add SYS_ADMIN'"
inside <<END
mount -t tmpfs none /dev
mknod -m 666 /dev/null c 1 3
mknod -m 644 /dev/urandom c 1 9
[ "$in_container" ] || trouble 32 "$cannot there is no /dev/fuse: $modprobe" ${mount[*]}
trouble 32 "$cannot there is no /dev/fuse in this container: $device, or mount on the host and give the container the \
folder" env container=podman ${mount[*]}
mknod /dev/fuse c 10 255
trouble 32 "$cannot /dev/fuse has no driver: $modprobe" ${mount[*]}
END
if group=/sys/fs/cgroup/devices/datasetfs-test-$$ && mkdir "$group" 2>/dev/null; then
    at_exit rmdir "$group"
    echo "c 10:229 rwm" >"$group/devices.deny"
    # shellcheck disable=SC2016
    trouble 32 "$cannot /dev/fuse is there, but this container may not open it: $device" \
        sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$group" "${mount[@]}"
else
    say "no control group for devices: the message was not tested"
    seen "$cannot /dev/fuse is there, but this container may not open it: $device"
fi
trouble 32 "$cannot root may not mount here, as it lacks CAP_SYS_ADMIN: start the container with '--cap-add \
SYS_ADMIN', or mount on the host and give the container the folder" \
    setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "${mount[@]}"

say "not root"
touch fusermount3
chmod 644 fusermount3
# device MODE: a /dev of our own
cat >device.sh <<'END'
mount -t tmpfs none /dev
mknod -m 666 /dev/null c 1 3
mknod -m 644 /dev/urandom c 1 9
mknod -m "$1" /dev/fuse c 10 229
END
inside <<END
. ./device.sh 600
trouble 32 "$cannot user 65534 may not open /dev/fuse: mount as root, or let users open it with 'chmod 666 /dev/fuse'" \
    as_nobody ${mount[*]}
END
inside <<END
. ./device.sh 666
[ ! -e /usr/bin/fusermount3 ] || mount --bind fusermount3 /usr/bin/fusermount3
[ ! -e /bin/fusermount3 ] || [ ! -x /bin/fusermount3 ] || mount --bind fusermount3 /bin/fusermount3
trouble 32 "$cannot user 65534 needs fusermount3 to mount, and it is not installed: install the package fuse3, or \
mount as root" as_nobody ${mount[*]}
END
if [ -e /usr/bin/fusermount3 ]; then
    cp /usr/bin/fusermount3 helper
    chmod 755 helper
    inside <<END
. ./device.sh 666
mount --bind helper /usr/bin/fusermount3
trouble 32 "$cannot '/usr/bin/fusermount3' has no set-uid bit, without which it cannot mount for user 65534: \
'chmod u+s /usr/bin/fusermount3' as root, or mount as root" as_nobody ${mount[*]}
END
else
    say "no /usr/bin/fusermount3: the message was not tested"
    seen "$cannot '/usr/bin/fusermount3' has no set-uid bit, without which it cannot mount for user 1: \
'chmod u+s /usr/bin/fusermount3' as root, or mount as root"
fi

say "busy"
exec 9<VOLUME
flock -x 9
trouble 1 "mkdatasetfs: volume 'VOLUME': the kernel has it mounted, or a program that does not publish has it \
locked: 'losetup -a' and 'lslocks' show it, try again when it has ended: process $$ ('troubles.sh' of user 0)" \
    mkdatasetfs --progress none VOLUME SOURCE
exec 9<&-
truncate -s 32M DISK
loop_device DISK
pack "$LOOP" SOURCE
# shellcheck disable=SC2016
trouble 1 "mkdatasetfs: volume '$LOOP': it is mounted or another publisher has it open: 'lsblk' and 'fuser' show who, \
try again when it has ended" python3 -c 'import os, subprocess, sys
held = os.open(sys.argv[1], os.O_RDWR | os.O_EXCL)
sys.exit(subprocess.run(["mkdatasetfs", "--progress", "none", sys.argv[1], "SOURCE"]).returncode)' "$LOOP"
mount_volume VOLUME MOUNTPOINT
exec 9<MOUNTPOINT
kill -TERM "$DAEMON"
busy="'$PWD/MOUNTPOINT' is busy and stays mounted; another SIGTERM or SIGINT detaches it: cannot unmount \
'$PWD/MOUNTPOINT': Device or resource busy"
wait_for 20 grep -qF "$busy" daemon.log || fail "not '$busy': $(cat daemon.log)"
seen "datasetfs: $busy"
exec 9<&-
unmount MOUNTPOINT

say "a wrong path"
trouble 32 "datasetfs: 'nothing': there is no such file or device: check the path, and that the device is attached" \
    datasetfs nothing MOUNTPOINT
trouble 32 "datasetfs: cannot mount '$PWD/nothing' on 'MOUNTPOINT': there is no such file or device: \
check the path, and that the device is attached" datasetfs -o channel=dev "$PWD/nothing" MOUNTPOINT
trouble 32 "datasetfs: mountpoint 'nowhere' does not exist: 'mkdir -p nowhere' makes it" datasetfs VOLUME nowhere
trouble 32 "datasetfs: mountpoint 'VOLUME' is not a directory: VOLUME comes first, then MOUNTPOINT" \
    datasetfs MOUNTPOINT VOLUME
trouble 32 "datasetfs: cannot mount 'SOURCE' on 'MOUNTPOINT': it is a directory, neither a regular file nor a block \
device: name the volume in it, and VOLUME before any other folder" datasetfs -o channel=dev SOURCE MOUNTPOINT
head -c 2000000 /dev/zero >FILE
trouble 32 "datasetfs: cannot mount 'FILE' on 'MOUNTPOINT': not a datasetfs volume: expected one that \
mkdatasetfs made" datasetfs -o channel=dev FILE MOUNTPOINT
printf 'LUKS\272\276\0\2' | dd of=FILE conv=notrunc status=none
trouble 32 "datasetfs: cannot mount 'FILE' on 'MOUNTPOINT': superblock: encrypted by LUKS and not open on this host: \
open it with cryptsetup(8)" datasetfs -o channel=dev FILE MOUNTPOINT
chmod 600 FILE
trouble 32 "datasetfs: cannot mount 'FILE' on 'MOUNTPOINT': user 65534 may not read it: it is user 0's and has mode \
0600; if it is a volume, its owner can let others" as_nobody datasetfs -o channel=dev FILE MOUNTPOINT

say "another size of block"
for sector in 16384 8192 65536; do
    truncate -s 32M DISK2
    if OTHER=$(losetup --find --show --sector-size $sector DISK2 2>/dev/null); then
        at_exit loop_end "$OTHER" "$(loop_file "$OTHER")"
        [ "$(blockdev --getss "$OTHER")" != $sector ] || break
    fi
    OTHER=
done
blocks="its logical blocks have $sector bytes, expected 512 or 4096: attach or format the device with one of these"
if [ "$OTHER" ]; then
    trouble 1 "mkdatasetfs: volume '$OTHER': $blocks" mkdatasetfs --progress none "$OTHER" SOURCE
    trouble 32 "datasetfs: cannot mount '$OTHER' on 'MOUNTPOINT': $blocks" datasetfs -o channel=dev "$OTHER" MOUNTPOINT
else
    say "no loop device with blocks above 4096: the message was not tested"
    seen "mkdatasetfs: volume '/dev/loop0': $blocks"
    seen "datasetfs: cannot mount '/dev/loop0' on 'MOUNTPOINT': $blocks"
fi
# The two that are expected fit each other: packed with one, mounted with the other.
loop_end "$LOOP" "$PWD/DISK"
if LOOP=$(losetup --find --show --sector-size 4096 DISK); then
    at_exit loop_end "$LOOP" "$PWD/DISK"
    mount_volume "$LOOP" MOUNTPOINT
    compare SOURCE MOUNTPOINT
    unmount MOUNTPOINT
fi

say "an old kernel"
c_program lib/old_kernel -shared -fPIC -ldl
trouble 32 "$cannot the kernel speaks FUSE 7.26, expected 7.31 or newer: boot Linux 5.4 or newer, or read the volume \
without a mount, by libdatasetfs" env OLD_KERNEL=4.15 LD_PRELOAD="$PWD/old_kernel" "${mount[@]}"
! is_mounted MOUNTPOINT || fail "it is mounted all the same"

say "an index larger than the memory"
group=/sys/fs/cgroup/memory$(awk -F : '$2 == "memory" { print $3 }' /proc/self/cgroup)/datasetfs-test-$$
limit=memory.limit_in_bytes
[ -d /sys/fs/cgroup/memory ] || {
    group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/datasetfs-test-$$
    limit=memory.max
}
memory="not enough memory for its index: needs *iB, 16.0 MiB must stay free, *iB is available in the control \
group: raise its limit"
if mkdir "$group" 2>/dev/null && [ -e "$group/$limit" ]; then
    at_exit rmdir "$group"
    python3 -c 'import os
os.mkdir("MANY")
for i in range(3000):
    open("MANY/" + ("%06d" % i) * 30, "w").close()'
    pack LARGE MANY
    echo $((15 << 20)) >"$group/$limit"
    # shellcheck disable=SC2016
    trouble 32 "datasetfs: cannot mount 'LARGE' on 'MOUNTPOINT': $memory" \
        sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$group" \
        datasetfs -o channel=dev,io=threads,workers=1 LARGE MOUNTPOINT
else
    say "no control group for memory: the message was not tested"
    seen "datasetfs: cannot mount 'LARGE' on 'MOUNTPOINT': ${memory//\*iB/1.0 MiB}"
fi

say "a second mount on the same mountpoint"
mount_volume VOLUME MOUNTPOINT
trouble 32 "datasetfs: mountpoint 'MOUNTPOINT': '$PWD/VOLUME' is mounted there already: 'umount $PWD/MOUNTPOINT', then \
mount again" datasetfs VOLUME MOUNTPOINT
unmount MOUNTPOINT
kernel=
if datasetfs -o kernel VOLUME MOUNTPOINT 2>kernel.err; then
    kernel=1
    trouble 32 "datasetfs: mountpoint 'MOUNTPOINT': the kernel serves a volume there already: 'umount \
$PWD/MOUNTPOINT', then mount again" datasetfs VOLUME MOUNTPOINT
    umount MOUNTPOINT
    exec 9<VOLUME
    flock -x 9
    trouble 32 "datasetfs: cannot mount 'VOLUME' on 'MOUNTPOINT': another program has '$PWD/VOLUME' locked, \
mount it when that has ended: process $$ ('troubles.sh' of user 0)" datasetfs -o kernel VOLUME MOUNTPOINT
    exec 9<&-
else
    say "no kernel's own mount here: $(cat kernel.err)"
fi

say "a server that was replaced"
mount_volume VOLUME MOUNTPOINT
kill_server MOUNTPOINT
wait_for 20 grep -q "another one serves" daemon.log || fail "no word of another server: $(cat daemon.log)"
replaced=$(grep -o "datasetfs: the server .* another one serves.*" daemon.log)
seen "$(sed -E 's/(signal|after|restarts=) ?[0-9]+/\1 N/g; s/= N/=N/' <<<"$replaced")"
kill -KILL "$DAEMON"
gone="the supervisor of '$PWD/MOUNTPOINT' has ended: if this process ends, too, the mount does, so unmount and mount "
gone+="it when you can"
wait_for 20 grep -qF "$gone" daemon.log || fail "no word of the supervisor: $(cat daemon.log)"
seen "datasetfs: $gone"

say "a mount that was left over"
kill -KILL "$SERVER"
wait_for 20 is_disconnected MOUNTPOINT || fail "the server lives"
trouble 1 "cat: MOUNTPOINT/file: Transport endpoint is not connected" cat MOUNTPOINT/file
left="the daemon of this mount is gone: 'umount MOUNTPOINT', then mount again"
trouble 32 "datasetfs: mountpoint 'MOUNTPOINT': $left" datasetfs VOLUME MOUNTPOINT
trouble 1 "datasetfsctl: cannot show the status of 'MOUNTPOINT': $left" datasetfsctl status MOUNTPOINT
trouble 1 "datasetfsctl: cannot switch 'MOUNTPOINT': $left" datasetfsctl switch MOUNTPOINT v1
assert_fails 32 "the daemon of this mount is gone: 'fusermount3 -u MOUNTPOINT', then mount again" \
    as_nobody datasetfs VOLUME MOUNTPOINT
umount MOUNTPOINT || fail "it cannot be unmounted as the message says"
mount_volume VOLUME MOUNTPOINT
compare SOURCE MOUNTPOINT
unmount MOUNTPOINT

say "a version that was removed"
head -c 5000000 /dev/urandom >SOURCE/large
pack VOLUME SOURCE --label v2
rm SOURCE/large
pack VOLUME SOURCE --label v3
trouble 32 "$cannot the volume has no version 'v9': choose one that it has, v1, v2, v3" \
    datasetfs -o channel=dev,version=v9 VOLUME MOUNTPOINT
mount_volume VOLUME MOUNTPOINT -o version=v2
trouble 1 "datasetfsctl: cannot switch 'MOUNTPOINT': the volume has no version 'v9': choose one that it has, v1, v2, \
v3" datasetfsctl switch MOUNTPOINT v9
datasetfsctl remove --force VOLUME v2 >/dev/null 2>&1 || fail "remove v2"
assert_contains "status" "$(datasetfsctl status MOUNTPOINT)" "outdated: 'v2' is no longer on the volume: "
gone="version 'v2' is no longer on the volume (removed): reads are right until its space is reused, "
gone+="switch '$PWD/MOUNTPOINT'"
wait_for 20 grep -qF "$gone, sequence=" daemon.log || fail "no line about the removal: $(cat daemon.log)"
seen "datasetfs: $gone"
head -c 2500000 /dev/urandom >SOURCE/large
pack VOLUME SOURCE --label v4
! cat MOUNTPOINT/large >/dev/null 2>&1 || fail "what was overwritten is read"
gone="version 'v2' was removed from the volume and its space is used again: switch '$PWD/MOUNTPOINT' to another one"
wait_for 20 grep -q "$gone, sequence=" daemon.log || fail "no line about the removed version: $(cat daemon.log)"
seen "datasetfs: $gone"
datasetfsctl switch MOUNTPOINT v3 >/dev/null || fail "it cannot be switched as the message says"
assert_eq "after the switch" "$(cat MOUNTPOINT/file)" one
unmount MOUNTPOINT

python3 - "$DATASETFS_SOURCE/man/datasetfs.7" messages "$in_container" "$kernel" <<'END' ||
import re, sys
page = open(sys.argv[1], encoding="utf-8").read()
part = re.search(r"^\.SH TROUBLESHOOTING\n(.*?)^\.SH ", page, re.MULTILINE | re.DOTALL)[1]
messages = re.findall(r"^\.I ((?:cat|datasetfs|datasetfsctl|mkdatasetfs): .*)$", part, re.MULTILINE)
listed = {line.replace(r"\-", "-") for line in messages}
printed = {line.rstrip("\n") for line in open(sys.argv[2])}
if sys.argv[3]:
    listed = {line for line in listed if "there is no /dev/fuse: " not in line}
if not sys.argv[4]:
    listed = {line for line in listed if "the kernel serves a volume there already" not in line
              and "another program has 'VOLUME' locked" not in line}
for line in sorted(printed - listed):
    print("printed, but not listed:", line)
for line in sorted(listed - printed):
    print("listed, but not printed:", line)
sys.exit(printed != listed or len(listed) < 20)
END
    fail "datasetfs(7), TROUBLESHOOTING, does not list the messages that are printed"
