#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain
# The volume that a member of direct_group gets cannot be opened for writing by its descriptor, whatever the volume's
# mode and whoever tries, as long as it is not root with CAP_SYS_ADMIN.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_root
chmod 755 .
# attempt: by root without CAP_SYS_ADMIN, who got it from the member
attempt() {
    setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$(PATH=/usr/bin:$PATH command -v python3)" - member mnt \
        <"$DATASETFS_SOURCE/tests/fuse/client_peers.py" || fail "no attempt"
}

mkdir source mnt
head -c 100000 /dev/urandom >source/file
pack volume source
for mode in 600 666; do
    chmod $mode volume
    mount_volume volume mnt -o direct_group=4343
    assert_eq "a file of mode $mode" "$(attempt)" "given Read-only file system"
    kill_server mnt
    assert_eq "the successor's, of mode $mode" "$(attempt)" "given Read-only file system"
    unmount mnt
done
need_loop
loop_device volume
chmod 666 "$LOOP"
mount_volume "$LOOP" mnt -o direct_group=4343
assert_eq "a device" "$(attempt)" "given Permission denied"
unmount mnt
chmod 660 "$LOOP"
