#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke daemon channels in=asan
# Every call that would change the filesystem fails with EROFS, for files, directories and symlinks.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_root

mkdir -p source/dir source/empty outside
head -c 10000 /dev/urandom >source/file
echo inside >source/dir/inside
ln -s file source/link
setfattr -n user.here -v value source/file source/dir source/dir/inside 2>/dev/null || say "no xattrs on this disk"
pack volume source
mount_volume volume mnt
c_program fuse/readonly
./readonly mnt "$PWD/outside" || fail "see above"
compare source mnt
unmount mnt

# Nor when the mount was asked to be writable.
assert_fails 2 "rw" datasetfs -o rw volume mnt
