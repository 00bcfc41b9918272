#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# --compress: raw is the default; zstd makes text smaller; auto leaves alone what does not pay.
. "$(dirname "$0")/../lib/common.sh"

mkdir source
for i in {1..60}; do seq $((i * 100)) $((i * 100 + 9000)) >source/$i.txt; done
for i in {1..20}; do head -c 60000 /dev/urandom >source/$i.jpg; done
for i in {1..10}; do head -c 40000 /dev/urandom | base64 | gzip -c >source/$i.gz; done

# stored MODE: bytes stored for the version
stored() {
    pack volume source --format ${1:+--compress "$1"}
    datasetfsctl verify volume >verify.log || { cat verify.log; fail "verify of $1"; }
    datasetfsctl list --json volume | json versions.0.stored_bytes
}
# codec FILE: of its first chunk
codec() {
    datasetfsctl stat --json volume "$1" | json chunks.0.codec
}

text=$(cat source/*.txt | wc -c)
default=$(stored "")
none=$(stored none)
assert_eq "default and none" "$default" "$none"
assert_eq "codec of text with none" "$(codec 1.txt)" raw
auto=$(stored auto)
assert_eq "codec of text with auto" "$(codec 1.txt)" zstd
assert_eq "codec of noise with auto" "$(codec 1.jpg)" raw
assert_eq "codec of gzip with auto" "$(codec 1.gz)" raw
zstd=$(stored zstd)
assert_eq "codec of text with zstd" "$(codec 1.txt)" zstd
best=$(stored zstd:19)
[ "$zstd" -le $((none - text / 2)) ] || fail "zstd stored $zstd of $none"
[ "$auto" -le $((none - text / 2)) ] || fail "auto stored $auto of $none"
[ "$best" -le "$zstd" ] || fail "level 19 stored $best, level 3 $zstd"
say "stored: none $none, auto $auto, zstd $zstd, zstd:19 $best; text $text"

# Content that an older version stores uncompressed is shared as it is: the summary says so, and has no ratio of all
# content to the little that was written.
pack volume source --format
mkdatasetfs --progress none --compress zstd volume source >again.out || fail "a second version"
assert_contains "summary" "$(cat again.out)" \
    "shared with older versions, which store it uncompressed: it stays so; a new volume compresses it"
! grep ratio again.out || fail "a ratio of what is shared"
mkdatasetfs --progress none --compress zstd --json volume source >again.json || fail "a third version"
assert_eq "ratio" "$(json ratio again.json)" None
assert_eq "uncompressed and shared" "$(json shared_uncompressed_bytes again.json)" "$(json shared_bytes again.json)"
mkdatasetfs --progress none volume source >raw.out || fail "a version that need not be compressed"
! grep -e ratio -e uncompressed raw.out || fail "a word about compression that nobody asked for"
mkdatasetfs --progress none --compress zstd --format volume source >new.out || fail "a new volume"
! grep uncompressed new.out || fail "uncompressed in a new volume"
grep -q 'ratio [0-9.]*$' new.out || fail "no ratio: $(cat new.out)"
