#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain channels
# Files are read into huge pages, so that the device gets few addresses, and one reader needs few of them: a slot that
# was released is the next to be taken.
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
pid=$(json server_pid mnt/.datasetfs/stats.json)
cat mnt/small* mnt/large* >/dev/null
found=$(huge)
budget=$(($(json buffer_budget mnt/.datasetfs/stats.json) / 1024))
most=$(($(nproc) * 4096 + 4096))
say "KiB in huge pages after one reader: $found of a budget of $budget"
[ "$found" -ge 2048 ] || fail "KiB in huge pages: found $found, expected 2048 at least"
if [[ $(cat $enabled) == *'[madvise]'* && $most -lt $budget ]]; then
    [ "$found" -le "$most" ] || fail "KiB in huge pages after one reader: found $found, expected at most $most"
fi
compare source mnt
unmount mnt
