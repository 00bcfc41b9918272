#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon channels in=asan,gcc:ring timeout=240
# Random trees: to repeat one, set SEED to the seed that was printed.
. "$(dirname "$0")/../lib/common.sh"
need_fuse

rounds=$(length 4 6)
[ -z "${DATASETFS_SANITIZER:-}" ] || rounds=3
[ -z "${SEED:-}" ] || rounds=1

for ((round = 0; round < rounds; round++)); do
    seed=${SEED:-$((RANDOM * 32768 + RANDOM))}
    tree random source --seed "$seed" --files $((50 + RANDOM % 400))
    modes=(none zstd:1 zstd:9 auto)
    pack volume source --compress "${modes[RANDOM % 4]}" -j $((1 + RANDOM % 8))
    mount_volume volume mnt
    compare source mnt
    unmount mnt
    datasetfsctl verify volume >verify.log || { cat verify.log; fail "verify, seed $seed"; }
    rm -rf source volume
done
