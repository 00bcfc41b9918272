#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# Identical content is stored once: small files whole, large ones in runs of at least 8 chunks; zeros cost nothing.
. "$(dirname "$0")/../lib/common.sh"

# size NUMBER: bytes stored for the version with that index
stored() {
    datasetfsctl list --json volume | json "versions.$1.stored_bytes"
}

mkdir -p source/a source/b
for i in {1..50}; do head -c $((5000 + i * 1000)) /dev/urandom >source/a/$i; done
once=$(find source/a -type f -printf '%s\n' | awk '{ s += $1 } END { print s }')
cp source/a/* source/b/
pack volume source
[ "$(stored 0)" -lt $((once * 11 / 10 + 50 * 4096)) ] || fail "50 files of $once bytes twice took $(stored 0)"
first=$(datasetfsctl stat --json volume a/7 | json chunks.0.device_offset)
assert_eq "the copy's place" "$(datasetfsctl stat --json volume b/7 | json chunks.0.device_offset)" "$first"

# Large files: a common run of 16 chunks counts, one of 4 does not.
rm -r source/*
head -c 4M /dev/urandom >source/large
{ head -c 2M source/large; head -c 1M /dev/urandom; } >source/long-run
{ head -c 512K source/large; head -c 3M /dev/urandom; } >source/short-run
pack volume source --format
total=$((4 + 3)) # MiB: large, and of the others what is not shared
size=$(stored 0)
most=$(((total + 1) * 1048576 + 700000))
[ "$size" -le $most ] || fail "stored $size, expected at most $most"
python3 - <<'END' || fail "a large file is not contiguous enough"
import json, subprocess
for name in ("large", "long-run", "short-run"):
    stat = json.loads(subprocess.check_output(["datasetfsctl", "stat", "--json", "volume", name]))
    if len(stat["ranges"]) > 3:
        raise SystemExit(f"{name} lies in {len(stat['ranges'])} ranges")
END
assert_eq "ranges of a short common run" \
    "$(datasetfsctl stat --json volume short-run | json ranges |
        python3 -c 'import json,sys; print(len(json.load(sys.stdin)))')" 1

# Zeros and holes cost nothing.
rm -r source/*
truncate -s 50M source/hole
head -c 20M /dev/zero >source/zeros
pack volume source --format
[ "$(stored 0)" = 0 ] || fail "zeros took $(stored 0) bytes"
[ "$(stat -c %s volume)" -lt 3000000 ] || fail "the volume has $(stat -c %s volume) bytes"

datasetfsctl verify volume >/dev/null || fail "verify"
