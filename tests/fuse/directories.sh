#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon channels in=asan timeout=300
# A large directory: listing, telldir and seekdir, types and inode numbers. LENGTH=1000000 for a really large one.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_command cc

entries=$(length 20000 100000)
[ -z "${DATASETFS_SANITIZER:-}" ] || entries=$(length 20000 20000)
tree flat source/flat --files $entries
pack volume source
mount_volume volume mnt
c_program fuse/directories
seed=$RANDOM
say "seed $seed"
for round in cold warm; do
    ./directories mnt/flat $entries $seed || fail "$round listing, seed $seed"
done
assert_eq "size of the directory's listing by ls" "$(ls -f mnt/flat | wc -l)" $((entries + 2))
assert_eq "files by find" "$(find mnt -type f -name 'f*7' | wc -l)" $((entries / 10))
unmount mnt
