#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: channels in=asan timeout=120
# Devices with sectors of 512 and of 4096 bytes: packed, mounted, compared, on both engines; SIGTERM when the mount
# was moved away says so.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_loop

tree random source --seed 21 --files 200
for sector in 512 4096; do
    truncate -s 0 disk$sector
    truncate -s 512M disk$sector
    LOOP=$(losetup --find --show --sector-size $sector "$PWD/disk$sector") ||
        skip "no loop device with sectors of $sector"
    at_exit loop_end "$LOOP" "$(loop_file "$LOOP")"
    assert_eq "sector size" "$(blockdev --getss "$LOOP")" $sector
    pack "$LOOP" source --compress auto
    datasetfsctl verify "$LOOP" >/dev/null || fail "verify of $LOOP"
    for io in uring threads; do
        mount_volume "$LOOP" mnt -o io=$io
        compare source mnt
        unmount mnt
    done
done

mkdir -p parent/mnt
mount_volume "$LOOP" parent/mnt
mv parent elsewhere
: >daemon.log
kill -TERM "$DAEMON"
wait_for 20 grep -q "was moved" daemon.log || fail "no word about the moved mount: $(cat daemon.log)"
umount elsewhere/mnt
wait_end "$DAEMON" || fail "the daemon runs on"
