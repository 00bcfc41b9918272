#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# A limit on the size of files (ulimit -f) is one on an index in memory, too:
# a version that is too large for it is refused, and the mount goes on.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

mkdir source
echo content >source/file
pack volume source
tree many source/many --files 3000
pack volume source --no-current
[ "$(datasetfsctl list --json volume | json versions.1.index_bytes)" -gt $((128 << 10)) ] ||
    fail "the second version is too small"
ulimit -S -f 128
mount_volume volume mnt
assert_fails 1 "File too large" datasetfsctl switch mnt v2
assert_eq "a file of the mount" "$(cat mnt/file)" content
assert_eq "the version" "$(datasetfsctl status --json mnt | json version.label)" v1
unmount mnt
