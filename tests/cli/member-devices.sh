#!/bin/bash
# SPDX-License-Identifier: MIT
# datasetfsctl member replace with devices: the former member has become read-only, the new one is too small.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_loop

mkdir source
for i in {1..30}; do head -c $((i * 9970)) /dev/urandom >source/$i; done
pack a,b,c source --label one --segment-size 1M --protect mirror:2
one=$(datasetfsctl dump a one | sha256sum)

say "a device that is too small"
for size in 32768 3145728; do # the first is smaller than the reserve
    truncate -s $size small
    loop_device small
    assert_fails 1 "'$LOOP' has $size bytes, the member needs" datasetfsctl member replace --dry-run a 1 "$LOOP"
    assert_fails 1 "'$LOOP' has $size bytes, the member needs" datasetfsctl member replace a 1 "$LOOP"
    loop_end "$LOOP"
done

say "a member that has become read-only"
mv b was
loop_device was --read-only
before=$(sha256sum <was)
assert_fails 1 "it is read-only" mkdatasetfs --progress none "a,$LOOP,c" source
datasetfsctl member replace "a,$LOOP,c" 1 new >out 2>err || fail "replace: $(cat err)"
assert_contains "it says" "$(cat out)" "'new' is now member 1 of 'a,$LOOP,c'"
assert_eq "the former one" "$(sha256sum <was)" "$before"
datasetfsctl verify a >verify.log 2>&1 || fail "verify: $(cat verify.log)"
assert_eq "digest" "$(datasetfsctl dump a one | sha256sum)" "$one"

say "a member that was away, and was used for something else meanwhile"
mkdir away
mv new away/
echo more >source/more
mkdatasetfs --progress none --degraded --label two a source >pack.log 2>&1 || fail "degraded: $(cat pack.log)"
truncate -s 64M away/new
loop_device away/new
datasetfsctl member replace --dry-run --json a 1 "$LOOP" >out 2>err || fail "dry run: $(cat err)"
assert_eq "before that it is the member itself" "$(json itself out)" true
mkswap "$LOOP" >/dev/null 2>&1 || fail "mkswap"
assert_fails 1 "'$LOOP' holds a filesystem or volume of type swap, --force replaces it" \
    datasetfsctl member replace a 1 "$LOOP"
datasetfsctl member replace --force --json a 1 "$LOOP" >out 2>err || fail "forced: $(cat err)"
assert_eq "none of it was kept" "$(json itself out) $(json kept_bytes out)" "false 0"
datasetfsctl verify "a,$LOOP,c" >verify.log 2>&1 || fail "verify: $(cat verify.log)"
