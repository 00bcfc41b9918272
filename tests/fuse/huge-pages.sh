#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain channels
# What a large file is read into is a huge page, so that the device gets few addresses; small files take no memory for that.
. "$(dirname "$0")/../lib/common.sh"
need_fuse

enabled=/sys/kernel/mm/transparent_hugepage/enabled
[[ $(cat $enabled 2>/dev/null) == *'[never]'* || ! -e $enabled ]] && skip "the kernel gives no huge pages"

# huge: KiB of the daemon's memory in huge pages
huge() {
    awk '/^AnonHugePages:/ { print $2 }' "/proc/$pid/smaps_rollup"
}

mkdir source
for i in {1..200}; do head -c $((1000 + i * 37)) /dev/urandom >source/small$i; done
for i in {1..20}; do head -c $((100000 + i * 40000)) /dev/urandom >source/large$i; done
pack volume.dsfs source
mount_volume volume.dsfs mnt
pid=$(json pid mnt/.datasetfs/stats.json)
cat mnt/small* >/dev/null
before=$(huge)
[[ $(cat $enabled) == *'[always]'* ]] || assert_eq "KiB in huge pages after small files" "$before" 0
cat mnt/large* >/dev/null
after=$(huge)
say "KiB in huge pages: $before after small files, $after after large ones"
[ "$after" -ge 2048 ] || fail "KiB in huge pages after large files: found $after, expected 2048 at least"
compare source mnt
unmount mnt
