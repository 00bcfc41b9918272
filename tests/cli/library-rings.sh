#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan timeout=600
# A program takes the io_uring from under libdatasetfs while reads are under way, by closing its descriptor or by a
# filter that was installed late: all reads are right, and the program goes on. On a slow device the kernel has reads
# then.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

tree random source --seed 5 --files 300 --no-huge
pack volume source

# lose HOW VOLUME ROUNDS
lose() {
    local rc=0
    "$DATASETFS_BUILD/tests/library/library-rings" "$1" "$2" source "$3" >lost.log || rc=$?
    [ $rc != 77 ] || skip "$(cat lost.log)"
    [ $rc = 0 ] || fail "$1, on $2"
}

for how in closed refused; do lose $how volume "$(length 3 100)"; done
need_fuse
slow_device volume slow 3000
for how in closed refused; do lose $how slow "$(length 2 30)"; done
