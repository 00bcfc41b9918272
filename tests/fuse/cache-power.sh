#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=gcc
# A power loss: a copy of the cache's device, made while the mount serves, has what the drive would have. The next mount
# finds there all that was saved, whole.
. "$DATASETFS_SOURCE/tests/lib/cache.sh"
need_root
need_fuse
need_mount
need_loop

mixed_files source 100
pack volume source
CHUNKS=$(chunks_in source)
mkdir drive after

# begin_drive MKFS MOUNT-OPTIONS: with a folder on it, and commits that come only when somebody flushes
begin_drive() {
    rm -f drive.img
    truncate -s 400M drive.img
    "mkfs.$1" -q drive.img || fail "mkfs.$1"
    loop_device drive.img
    mount -o "$2" "$LOOP" drive
    install -d -m 700 drive/cache
    sync -f drive
}
# loses_power MOUNT-OPTIONS: after is what the drive has now; others have committed the journal, as they do any second
loses_power() {
    touch drive/other
    sync drive/other
    cp --sparse=always drive.img after.img
    loop_device after.img
    mount -o "$1" "$LOOP" after
}
end_drives() {
    command umount after
    command umount drive
}

for kind in "ext4 commit=300" "xfs nouuid"; do
    read -r name options <<<"$kind"
    command -v "mkfs.$name" >/dev/null || continue
    say "$name"
    begin_drive "$name" "$options"
    at_exit umount -q "$PWD/drive" "$PWD/after"
    mount_volume volume mnt -o "readahead=off,prefetch=off,cache=$PWD/drive/cache"
    epoch mnt source
    filled mnt source "$CHUNKS"
    await_save drive/cache "$CHUNKS"
    copied() { [ -n "$(find drive/cache/*/index -type f ! -name '*.new')" ]; }
    wait_for 20 copied || fail "no copy of the index"
    loses_power "$options"
    unmount mnt
    assert_eq "note" "$(cat after/cache/format)" "datasetfs cache 1"
    : >daemon.log
    mount_volume volume mnt -o "readahead=off,prefetch=off,cache=$PWD/after/cache"
    assert_eq "bytes of indexes from the volume" "$(stats mnt index_read_bytes)" 0
    wait_for 20 eval '[ "$(cached mnt used)" -gt 0 ]' || fail "nothing was loaded"
    epoch_from_cache mnt source 3
    without_trouble mnt
    assert_eq "lines about the cache" "$(grep -c "cache '" daemon.log)" 0
    unmount mnt
    end_drives
done
