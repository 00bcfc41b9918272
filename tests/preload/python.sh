#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once timeout=300
# Every call of CPython that takes a file gives the same on a mount without and with datasetfs-run: bytes, attributes,
# errors, descriptors; for root and for a user who may read past the mount, but not every file.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/preload.sh"
need_fuse
need_command /usr/bin/python3

! is_root || chmod 755 .
# shellcheck disable=SC2034 # for data()
MOUNT_OPTIONS=$(! is_root || echo direct_group=nogroup)
data files modes archives modules
calls=$DATASETFS_SOURCE/tests/preload/python_calls.py
works "calls" /usr/bin/python3 "$calls"
[ "$(wc -l <plain/out)" -gt 3000 ] || fail "only $(wc -l <plain/out) calls were made"
if is_root; then
    both "calls of nobody" setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all \
        /usr/bin/python3 "$calls"
fi
same_programs 1
