#!/bin/bash
# SPDX-License-Identifier: MIT
# Second opinions: the same tree through the kernel's SquashFS and EROFS is what our mount shows.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_loop
need_command mksquashfs mkfs.erofs

# Files that those images cannot hold stay out: paths beyond PATH_MAX, times outside 32 bits.
tree nasty source --no-special --no-huge
rm -rf source/0* source/times
tree random source/random --seed 11 --files 150
pack volume source --compress auto
mount_volume volume ours

mksquashfs source squash.img -quiet -no-progress -noappend >/dev/null
mkdir theirs
if (need_filesystem squashfs); then
    mount -t squashfs -o loop,ro squash.img theirs
    compare theirs ours --ignore nanoseconds,holes
    umount theirs
    say "SquashFS agrees"
fi

# mkfs.erofs 1.5 cannot take names of 255 bytes.
unmount ours
# shellcheck disable=SC2183
LC_ALL=C find source -depth -name "$(printf '?%.0s' {1..255})" -exec rm -rf {} +
pack volume source --compress auto --format
mount_volume volume ours
mkfs.erofs -E force-inode-extended -x1 erofs.img source >mkfs.log 2>&1 || fail "mkfs.erofs: $(tail -n 3 mkfs.log)"
if (need_filesystem erofs); then
    mount -t erofs -o loop,ro erofs.img theirs
    compare theirs ours --ignore holes,nanoseconds
    umount theirs
    say "EROFS agrees"
fi
unmount ours
