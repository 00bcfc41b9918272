#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan timeout=300
# Hostile volumes with right sums, of one member and of several, read in process; LENGTH says how many, SEED repeats a
# run, and KINDS chooses sound volumes (tests/lib/hostile.sh).
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/hostile.sh"
need_command ssh-keygen setfattr

seed=${SEED:-$RANDOM}
say "seed $seed"
hostile_volumes
count=$(($(length 700 7000) / ${#SOUNDS[@]}))
for volume in "${SOUNDS[@]}"; do
    say "$volume"
    "$DATASETFS_BUILD/tests/format/hostile" "$volume" "$seed" 1 $count || fail "seed $seed, $volume"
done
