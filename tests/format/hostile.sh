#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan timeout=300
# Hostile volumes with right sums, read in process; LENGTH says how many, and SEED repeats a run.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/hostile.sh"
need_command ssh-keygen setfattr

seed=${SEED:-$RANDOM}
say "seed $seed"
hostile_volumes
count=$(($(length 800 20000) / 4))
for volume in sound/*.dsfs; do
    say "$volume"
    "$DATASETFS_BUILD/tests/format/hostile" "$volume" "$seed" 1 $count || fail "seed $seed, $volume"
done
