#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan timeout=300
# Versions are published, removed and compacted into the same space of a volume, again and again, under a cache and
# readers: what they read is always the served version's, though the cache has what was in that space before.
. "$DATASETFS_SOURCE/tests/lib/cache.sh"
need_fuse

rounds=$(length 12 1000)
reused() {
    python3 "$DATASETFS_SOURCE/tests/fuse/cache_reused.py" "$1" volume source "$rounds" "$SEED"
}

mkdir source
reused - || fail "no files"
pack volume source --label v1 --compress none --segment-size 1M
cache_folder cache
mount_volume volume mnt -o "readahead=off,prefetch=off,cache=$PWD/cache,cache_size=$((64 + rounds))M"
epoch mnt source
reused mnt || fail "see above: $(tail -n 5 daemon.log)"
epoch mnt source
say "$(cached mnt hits) reads of the cache, $(cached mnt fills) fills, $(cached mnt errors) in vain"
[ "$(cached mnt hits)" -gt 100 ] || fail "the cache was not in use" # after many rounds it is full of former versions
without_trouble mnt
unmount mnt
