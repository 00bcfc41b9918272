#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke daemon
# While a member of a mounted volume is replaced, which is missing or still there, readers get every byte and no error.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

mkdir -p source/many
for i in {1..200}; do head -c $((i * 197)) /dev/urandom >"source/many/$i"; done
head -c 20000000 /dev/urandom >source/large

# readers: one after the other, until the file 'stop' is there; each round is a line in rounds.N
readers() {
    local n
    rm -f stop rounds.*
    pids=()
    for n in 1 2; do
        while [ ! -e stop ]; do
            python3 "$LIB/compare.py" source mnt >compare.$n.log 2>&1 || { echo wrong >>rounds.$n && break; }
            echo right >>rounds.$n
        done &
        pids+=($!)
    done
}

# read_on: as often as both have read everything once more
read_on() {
    local n before
    for n in 1 2; do
        before=$(wc -l <rounds.$n)
        wait_for 60 eval "[ \$(wc -l <rounds.$n) -gt $before ]" || fail "reader $n stands still"
    done
}

for there in no yes; do
    say "the former member is there: $there"
    rm -f a b c d
    pack a,b,c source --segment-size 1M --protect mirror:2
    [ $there = yes ] || rm b
    mount_volume a mnt
    readers
    wait_for 60 eval "[ -s rounds.1 ] && [ -s rounds.2 ]" || fail "nobody reads"
    datasetfsctl member replace a 1 d >out 2>err || fail "replace: $(cat err)"
    read_on
    : >stop
    wait "${pids[@]}"
    ! grep wrong rounds.* || fail "read something else: $(cat compare.*.log)"
    assert_eq "read failures" "$(stats mnt read_failures)" 0
    unmount mnt
    rm -f b
    mount_volume d mnt
    compare source mnt || fail "a new mount has something else"
    assert_eq "states" "$(python3 -c '
import json
print(*(m["state"] for m in json.load(open("mnt/.datasetfs/stats.json"))["members"]))')" "ok ok ok"
    unmount mnt
done
