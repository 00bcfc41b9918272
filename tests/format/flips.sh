#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan timeout=300
# 600 flipped bytes on each of three small volumes, 5,000 with --all, and a truncation at every block: never a wrong
# byte, each refusal with a reason.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir -p tree/a/b tree/empty
for i in $(seq 0 40); do
    head -c $((i * 137)) /dev/urandom >"tree/a/small$i"
    head -c $((i * 411)) <(yes "text $i") >"tree/a/b/text$i"
done
head -c 1200000 /dev/urandom >tree/large
head -c 400000 <(yes "compresses well") >tree/text
truncate -s 600000 tree/sparse
printf end >>tree/sparse
ln -s a/b tree/link
ln tree/large tree/second
seed=${SEED:-$RANDOM}
say "seed $seed"
flips=600 step=15
[ "$DATASETFS_FULL" = 0 ] || flips=5000 step=1
for options in "" "--compress zstd" "--compress zstd --sums sha256"; do
    # shellcheck disable=SC2086 # several words
    pack volume tree --format $options
    "$DATASETFS_BUILD/tests/format/flips" volume $flips "$seed" $step
done
