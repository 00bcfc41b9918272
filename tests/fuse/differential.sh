#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke daemon channels in=asan,gcc:ring timeout=240
# The hand-made tree, packed in every compress mode, is the same through the mount.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_space 500

options=()
[ "$(id -u)" = 0 ] || options=(--plain-owners)
tree nasty source ${options[@]+"${options[@]}"}

for mode in none zstd auto; do
    pack "$mode.dsfs" source --compress $mode
    mount_volume "$mode.dsfs" mnt
    compare source mnt
    # A second time, now from the kernel's caches, and by another reader's eyes.
    (cd mnt && find . -type f -size -1M ! -path './modes/*' -print0 |
        LC_ALL=C sort -z | xargs -0 sha256sum) >mount.sums
    (cd source && find . -type f -size -1M ! -path './modes/*' -print0 |
        LC_ALL=C sort -z | xargs -0 sha256sum) >source.sums
    cmp mount.sums source.sums || fail "sums of the files differ"
    unmount mnt
    rm "$mode.dsfs"
done

# Chunks of other sizes cut files elsewhere.
for size in 4K 1M; do
    pack "$size.dsfs" source --chunk-size $size --compress auto
    mount_volume "$size.dsfs" mnt
    compare source mnt
    unmount mnt
    rm "$size.dsfs"
done
