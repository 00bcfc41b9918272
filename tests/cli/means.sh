#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain
# A program that lacks descriptors, or may not write larger files, says so: no member is missing for that reason, and
# nothing was replaced or renamed. The descriptors of a login shell under the tightest usual limit are enough.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir source volume
for i in 1 2 3 4; do head -c 1500000 /dev/urandom >source/$i; done
cd volume
pack a,b,c ../source --protect mirror:2

say "descriptors"
# with DESCRIPTORS COMMAND…: its status; what it said is in said
with() {
    local rc=0
    (ulimit -n "$1" && "${@:2}") >said 2>&1 || rc=$?
    return $rc
}
lacking=0
for ((count = 64; count >= 4; count -= count > 16 ? 8 : 1)); do
    for command in "datasetfsctl list a" "datasetfsctl member list a,b,c" "datasetfsctl dump b" \
        "datasetfsctl current a v1" "mkdatasetfs --progress none --degraded a ../source" \
        "mkdatasetfs --progress none --degraded a,b,c ../source"; do
        # shellcheck disable=SC2086
        if with $count $command; then
            ! grep -q "missing\|stale" said || fail "$count descriptors: $command: $(cat said)"
            continue
        fi
        [ $count -lt 64 ] || fail "64 descriptors are too few: $command: $(cat said)"
        lacking=$((lacking + 1))
        # Where the program itself cannot be loaded, the linker says so.
        grep -qi "too many open files\|cannot open shared object" said ||
            fail "$count descriptors: $command: $(cat said)"
    done
done
[ $lacking -gt 5 ] || fail "hardly any program lacked descriptors"
assert_eq "members in use" "$(datasetfsctl member list a | grep -c "^ *[0-2]  ok ")" 3

say "sizes of files"
head -c 9000000 /dev/urandom >../source/more
for limit in 1500 2001 3003; do # KiB: below, and where no block ends
    (ulimit -f $limit && mkdatasetfs --progress none new ../source) >said 2>&1 && fail "it wrote a larger file"
    assert_contains "the line" "$(cat said)" "files of this process may not be larger than $((limit * 1024)) bytes"
done
[ ! -e new ] || fail "a file is left"
