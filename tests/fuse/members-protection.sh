#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke daemon in=asan
# Protection is a property of what was written, not of a volume: list, status and stats.json show how much of a version
# has copies, and how much of it has one copy left when a member is missing.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

protection() {
    json "protection.$1" mnt/.datasetfs/stats.json
}

# listed LABEL: MIRRORED of it
listed() {
    datasetfsctl list a | awk -v label="$1" '$1 == label || $2 == label' | grep -o '[0-9]*%' | tr -d %
}

mkdir source away
for i in $(seq 60); do head -c $((i * 2000)) /dev/urandom >source/$i; done
head -c 5M /dev/urandom >source/large
pack a,b,c source --label bare --segment-size 1M
head -c 4M /dev/urandom >source/more
mkdatasetfs --protect mirror:2 --label mixed a source >summary || fail "pack"
assert_contains "the summary" "$(cat summary)" "of it shared with versions that have fewer copies, and no better"
mkdatasetfs --protect mirror:2 --label full --format --force d,e,f source >summary || fail "pack"
grep -q "fewer copies" summary && fail "all of it has copies: $(cat summary)"

mount_volume a mnt
assert_eq "the version" "$(json label mnt/.datasetfs/version)" mixed
mixed=$(protection protected_percent)
[ "$mixed" -gt 10 ] && [ "$mixed" -lt 90 ] || fail "protected: $mixed %"
assert_eq "what list shows" "$(listed mixed)" "$mixed"
assert_eq "one copy" "$(protection one_copy_percent)" $((99 - mixed))
assert_eq "degraded" "$(protection degraded)" None
datasetfsctl switch mnt bare >/dev/null
assert_eq "protected after the switch" "$(protection protected_percent) $(protection one_copy_percent)" "0 100"
datasetfsctl status mnt >status.out
assert_eq "the first line" "$(head -n 1 status.out)" "healthy: '$PWD/mnt' serves version 'bare' of '$PWD/a'"
grep -q "^  protection  *0 % has copies, 100 % has one copy left$" status.out || fail "status: $(cat status.out)"
unmount mnt

mount_volume d mnt
assert_eq "protected" "$(protection protected_percent) $(protection one_copy_percent)" "100 0"
unmount mnt
mv f away
mount_volume d mnt
assert_eq "protected without a member" "$(protection protected_percent)" 100
single=$(protection one_copy_percent)
[ "$single" -gt 40 ] && [ "$single" -lt 90 ] || fail "with one copy: $single %"
datasetfsctl status mnt >status.out
assert_eq "what status says" "$(sed -n 1p status.out)" \
    "degraded: member 2 missing, $single % of this version has one copy left"
grep -q "^ *2  missing  " status.out || fail "no row of the missing member: $(cat status.out)"
unmount mnt

pack single source
mount_volume single mnt
! protection degraded 2>/dev/null || fail "a volume of one member has no protection to speak of"
unmount mnt
