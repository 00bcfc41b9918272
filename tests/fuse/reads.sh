#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke daemon channels in=asan,tsan,gcc:threads,gcc:ring timeout=240
# pread anywhere, O_DIRECT, mmap, sendfile, readv: raw, compressed and sparse files against the source.
. "$(dirname "$0")/../lib/common.sh"
need_fuse

tree nasty all --no-special --no-huge --plain-owners
mkdir source
mv all/sizes all/text all/holes all/duplicates source/
head -c 5000001 /dev/urandom >source/large # larger than 1 MiB: read in blocks, with block checksums
{
    head -c 2000000 /dev/urandom
    head -c 700000 /dev/zero
    head -c 1200003 /dev/urandom
} >source/large-with-hole
seed=${SEED:-$RANDOM}
rounds=20
[ -z "${DATASETFS_SANITIZER:-}" ] || rounds=8
for mode in none zstd; do
    pack $mode.dsfs source --compress $mode
    mount_volume $mode.dsfs mnt
    python3 "$DATASETFS_SOURCE/tests/fuse/reads.py" source mnt --seed "$seed" --rounds $rounds ||
        fail "reads of compress=$mode, seed $seed"
    unmount mnt
done
