#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once timeout=2400
# Random sequences of calls, without and with the preloaded library: every result is the same, descriptors' numbers too.
# To repeat one, set SEED to the seed that was printed and LENGTH to 1; PRELOAD= compares the mount with itself.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
sequences=$DATASETFS_BUILD/tests/preload/sequences
library=${PRELOAD-$DATASETFS_BUILD/src/preload/libdatasetfs-preload.so}
count=$(length 2000 50000)
seed=${SEED:-$((RANDOM * 32768 + RANDOM))}
say "seed $seed"
[ -z "$library" ] || [ -e "$library" ] || fail "no '$library'"

"$sequences" tree source || fail "no tree"
pack volume source
for side in without with; do
    mkdir -p $side/mnt
    mount_volume volume $side/mnt
done

# compare_sides OPTIONS…: shows what differs
compare_sides() {
    "$sequences" compare without with ${library:+--preload "$library"} "$@" 2>compare.err || {
        tail -n 20 compare.err
        fail "the library changes what a program sees, seed $seed"
    }
}

# Beginning with a library that has done nothing yet, and with one that has served files to the parent.
: >report
DATASETFS_REPORT=$PWD/report compare_sides --cases
grep -q '"opened": [1-9]' report || fail "no file was served, says the report"
compare_sides --cases --warm
compare_sides --seed "$seed" --count "$count"
compare_sides --seed $((seed + count)) --count "$count" --warm
# A child that has no descriptor left to look at mounts by, and files open.
compare_sides --seed 789571020 --count 1 --warm
# With real descriptors that the library reads for.
export DATASETFS_RUN=compat
compare_sides --cases
compare_sides --seed $((seed + 2 * count)) --count $((count / 10))
