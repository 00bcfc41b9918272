#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan
# Mounts of devices that grow: they serve on, and follow a version that lies in the new space, with a cache, after their
# server has died, and mirrored; programs read it past the mount. In a mirrored volume a device whose new size the host
# does not see is missing, and copies are read.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_loop
export PATH=$DATASETFS_BUILD/tests/library:$PATH

# enlarge DEVICE SIZE
enlarge() {
    truncate -s "$2" "$(loop_file "$1")"
    losetup --set-capacity "$1"
}

# publish NUMBER MIB: a version of its own, with so much content, of which nothing fits into the former space
publish() {
    mkdir -p "source$1"
    echo "version $1" >"source$1/small"
    head -c "$2M" /dev/urandom >"source$1/large"
    pack "$volume" "source$1" --label "v$1"
}

follows() {
    [ "$(json label mnt/.datasetfs/version)" = "$1" ]
}

# followed NUMBER: by the mount, and read by it and past it
followed() {
    wait_for 30 follows "v$1" || fail "the mount does not follow v$1: $(cat daemon.log)"
    compare "source$1" mnt
    WAY=direct library-way mnt sums | sort >past
    WAY=direct library-way "$volume" sums | sort | cmp - past || fail "past the mount"
}

say "a device"
truncate -s 16M disk
loop_device disk
volume=$LOOP
publish 1 1
mount_volume "$volume" mnt -o "follow=current:1,cache=$PWD/cache"
enlarge "$volume" 32M
datasetfsctl member grow "$volume" >grow.out || fail "grow"
compare source1 mnt
publish 2 14
followed 2
kill_server mnt
compare source2 mnt
enlarge "$volume" 48M
datasetfsctl member grow "$volume" >grow.out || fail "grow after the server has died"
publish 3 16
followed 3
assert_contains "what status says" "$(datasetfsctl status mnt | head -n 1)" healthy
! grep -q "truncated" daemon.log || fail "the daemon has the former size: $(cat daemon.log)"
unmount mnt

say "members that mirror each other"
devices=()
for member in a b; do
    truncate -s 16M $member
    loop_device $member
    devices+=("$LOOP")
done
volume=${devices[0]},${devices[1]}
mkdir source4
echo "version 4" >source4/small
pack "$volume" source4 --label v4 --segment-size 1M --protect mirror:2
mount_volume "$volume" mnt -o follow=current:1
for device in "${devices[@]}"; do enlarge "$device" 32M; done
datasetfsctl member grow "$volume" >grow.out || fail "grow"
publish 5 14
followed 5
assert_eq "the members" "$(member 0 state) $(member 1 state)" "ok ok"
unmount mnt

say "a host that does not see the new size"
losetup --detach "${devices[1]}"
wait_for 10 loop_is_over "${devices[1]}" "$PWD/b" || fail "the loop device stays"
loop_device b --sizelimit $((16 << 20))
mount_volume "${devices[0]}" mnt
assert_eq "the members" "$(member 0 state) $(member 1 state)" "ok missing"
compare source5 mnt
unmount mnt
