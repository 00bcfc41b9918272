#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon ring in=tsan timeout=300
# A device that goes away and comes back under another name: reads wait, the volume is opened again when it is the same
# one, and service goes on; with on_error=eio, and at the deadline, reads fail. Named by a path, and by the identity of
# a namespace of a recorded sysfs tree. A loop device goes away when its file is cut off.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_loop
need_command lsblk

channels=("dev,io=uring" "dev,io=threads")
if ring_switch Y; then channels+=(ring); fi

mkdir source
for i in {0..9}; do head -c $((100000 + i * 7777)) /dev/urandom >source/f$i; done
truncate -s 64M first
pack first source --compress none
cp first old
pack first source --label v2
cp first second
cp first kept
truncate -s 64M stranger
pack stranger source
loop_device first
one=$LOOP
loop_device second
two=$LOOP
loop_device stranger
three=$LOOP
loop_device old
four=$LOOP

told() {
    grep -qF -- "$1" daemon.log
}

reader() {
    (rc=0; cat "mnt/$1" >"$1.got" 2>"$1.err" || rc=$?; echo $rc >"$1.rc") &
}

# go_away: and what the block device itself has cached goes too
go_away() {
    : >first
    blockdev --flushbufs "$one"
}

come_back() {
    cp kept first
    blockdev --flushbufs "$one"
}

# The name of the volume is in another user's folder, which the daemon has to search when it opens the volume again.
mkdir -m 700 private
chown 65534 private
link=$PWD/private/link

# put_to DEVICE: that is where the volume can be found
put_to() {
    ln -sfn "$1" "$link"
    mv "sys/class/nvme-subsystem/$namespace" sys/moved
    namespace=nvme-subsys0/${1##*/}
    mv sys/moved "sys/class/nvme-subsystem/$namespace"
    sysfs_set sys "$namespace/dev" "$(lsblk -ndo MAJ:MIN "$1" | tr -d ' ')"
}

export DATASETFS_SYSFS=$PWD/sys
sysfs_tree sys
namespace=nvme-subsys0/nvme0n1
uuid=7c9e6679-7425-40de-944b-e07fc1f90ae7 # of no other test that runs beside this one and looks at all mounts
sysfs_set sys $namespace/uuid $uuid
sysfs_set sys $namespace/wwid uuid.$uuid
identity=nvme:uuid:$uuid

# look_elsewhere: what is not the volume is noticed and not served
look_elsewhere() {
    put_to "$three"
    wait_for 20 told "the volume there has the UUID" || fail "a stranger was not noticed: $(cat daemon.log)"
    put_to "$four"
    wait_for 20 told "the volume there is an older state" || fail "an older state was not noticed: $(cat daemon.log)"
    [ ! -e f1.rc ] || fail "served from something else: $(cat daemon.log)"
}

# elsewhere CHANNEL VOLUME [COMMAND]: the device goes away and does not come back, but its volume does
elsewhere() {
    local volume=$2
    put_to "$one"
    : >daemon.log
    rm -f ./*.rc ./*.got
    mount_volume "$volume" mnt -o channel=$1,deadline=3000
    cmp source/f0 mnt/f0 || fail "f0 before"
    go_away
    reader f1
    reader f2
    wait_for 20 told "device reads of '$volume' have waited 1 s" || fail "no line: $(cat daemon.log)"
    ${3:-true}
    put_to "$two"
    wait_for 20 test -s f1.rc -a -s f2.rc || fail "the readers hang: $(cat daemon.log)"
    assert_eq "status of the readers" "$(cat f1.rc) $(cat f2.rc)" "0 0"
    cmp source/f1 f1.got || fail "f1"
    cmp source/f2 f2.got || fail "f2"
    # Reads go on a moment before it is said.
    wait_for 20 told "volume '$volume' was lost and is open again, as '" ||
        fail "no line about the reopening: $(cat daemon.log)"
    diff -r source mnt || fail "other files after the reopening"
    assert_eq "failed reads" "$(stats mnt read_failures)" 0
    datasetfsctl switch mnt v1 >/dev/null || fail "no switch after the reopening"
    diff -r source mnt || fail "other files after the switch"
    unmount mnt
    come_back
    say "channel=$1 ${volume##*/}"
}

# fails_at_once CHANNEL: with on_error=eio reads fail, and the volume is found again all the same
fails_at_once() {
    put_to "$one"
    : >daemon.log
    mount_volume "$link" mnt -o channel=$1,on_error=eio
    go_away
    assert_fails 1 "Input/output error" cat mnt/f1
    put_to "$two"
    wait_for 20 cmp source/f1 mnt/f1 || fail "f1 after the volume is back: $(cat daemon.log)"
    wait_for 20 told "volume '$link' was lost and is open again, as '" ||
        fail "no line about the reopening: $(cat daemon.log)"
    diff -r source mnt || fail "other files after the reopening"
    unmount mnt
    come_back
    say "channel=$1 on_error=eio"
}

# Where the volume is looked for, and what is refused there, has nothing to do with channels.
elsewhere "${channels[0]}" $identity look_elsewhere
export DATASETFS_SYSFS=$PWD/nothing
elsewhere "${channels[0]}" "$link" look_elsewhere

for channel in "${channels[@]}"; do
    [ "$channel" = "${channels[0]}" ] || elsewhere "$channel" "$link"
    fails_at_once "$channel"

    put_to "$one"
    : >daemon.log
    mount_volume "$link" mnt -o channel=$channel
    go_away
    rm -f f1.rc
    reader f1
    wait_for 20 told "have waited 1 s, the device says: Input/output error" ||
        fail "no reason in: $(cat daemon.log)"
    come_back
    wait_for 20 test -s f1.rc || fail "the reader hangs: $(cat daemon.log)"
    assert_eq "status of a reader when the same device is back" "$(cat f1.rc)" 0
    cmp source/f1 f1.got || fail "f1 after the same device is back"
    unmount mnt

    # Past the page cache: the kernel would ask a second time for what it failed to read ahead.
    for options in on_error=eio deadline=1; do
        : >daemon.log
        mount_volume "$link" mnt -o channel=$channel,$options
        go_away
        assert_fails 1 "Input/output error" dd if=mnt/f1 of=/dev/null bs=1M iflag=direct status=none
        assert_contains "the log" "$(cat daemon.log)" "read of '/f1' failed: the device says: Input/output error"
        come_back
        # On a busy machine a good read may take longer than that deadline.
        wait_for 60 cmp source/f2 mnt/f2 || fail "f2 after $options"
        unmount mnt
    done
done
assert_fails 2 "'never'" datasetfs -o on_error=never first mnt
assert_fails 2 "deadline" datasetfs -o deadline=0 first mnt
