#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain channels in=none timeout=300
# /usr/share: tens of thousands of real files of every kind.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_space $(($(du -sm --apparent-size /usr/share 2>/dev/null | cut -f 1) + 200))

# Some of it may be root's alone.
unpacked=() uncompared=()
while IFS= read -r path; do
    say "left out, as we may not read it: $path"
    unpacked+=(--exclude "/$path")
    uncompared+=(--exclude "$path")
done < <(find /usr/share ! -type l \( ! -readable -o -type d ! -executable \) -prune -printf '%P\n' 2>/dev/null)
pack volume /usr/share --compress auto "${unpacked[@]}"
mount_volume volume mnt
compare /usr/share mnt "${uncompared[@]}"
unmount mnt
datasetfsctl verify --sample 20% volume >verify.log || { cat verify.log; fail "verify"; }
