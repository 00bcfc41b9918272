#!/bin/bash
# SPDX-License-Identifier: MIT
# verify: 0 clean, 1 damaged and where, 2 could not look; samples and shards cover what they should.
. "$(dirname "$0")/../lib/common.sh"

mkdir source
for i in {1..40}; do head -c 50000 /dev/urandom >source/$i; done
pack volume source
datasetfsctl verify volume >clean.txt || fail "a clean volume: $(cat clean.txt)"
assert_contains "verify" "$(cat clean.txt)" "clean"
assert_eq "damaged" "$(datasetfsctl verify --json volume | json damaged)" 0
datasetfsctl verify --sample 10% --seed 5 volume >/dev/null || fail "--sample"

read -r _ _ _ offset stored < <(datasetfsctl stat --json volume 17 | python3 "$LIB/chunks.py")
printf '\252\125\252' | dd of=volume bs=1 seek=$((offset + stored / 3)) conv=notrunc status=none
rc=0
datasetfsctl verify volume >damaged.txt 2>&1 || rc=$?
assert_eq "status" $rc 1
assert_contains "verify" "$(cat damaged.txt)" "damaged '17'"
assert_contains "verify" "$(cat damaged.txt)" "offset=$offset"
assert_eq "damaged lines" "$(grep -c "^damaged '" damaged.txt)" 1
rc=0
datasetfsctl verify --json volume >damaged.json || rc=$?
assert_eq "status with --json" $rc 1
assert_eq "path" "$(json versions.0.damage.0.path damaged.json)" 17

# Exactly one shard has it.
hits=0
for shard in 1/4 2/4 3/4 4/4; do
    rc=0
    datasetfsctl verify --shard $shard volume >/dev/null 2>&1 || rc=$?
    case $rc in 0) ;; 1) hits=$((hits + 1)) ;; *) fail "shard $shard: status $rc" ;; esac
done
assert_eq "shards that found it" $hits 1
rc=0
datasetfsctl verify --sample 100% volume >/dev/null 2>&1 || rc=$?
assert_eq "--sample 100%" $rc 1

for target in missing source /dev/null; do
    rc=0
    datasetfsctl verify $target >/dev/null 2>&1 || rc=$?
    assert_eq "status for $target" $rc 2
done
