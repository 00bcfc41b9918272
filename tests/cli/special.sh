#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke in=asan
# Devices, sockets and FIFOs: left out, counted, at most ten named; or refused.
. "$(dirname "$0")/../lib/common.sh"

mkdir source
echo x >source/file
for i in {1..14}; do mkfifo "source/fifo$i"; done
mkdatasetfs --progress none --json volume source >out.json 2>err || fail "$(cat err)"
assert_eq "lines about special files" "$(grep -c "' is a .*ignoring" err)" 10
assert_contains "the count" "$(cat err)" "14 devices, sockets and FIFOs in all"
assert_eq "special files in the summary" "$(json special_left_out out.json)" 14
assert_eq "files" "$(json files out.json)" 1
rm volume
exits 1 mkdatasetfs --progress none --special=fail volume source 2>err
grep -qi "fifo.*is a fifo" err || fail "the reason: $(cat err)"
[ ! -e volume ] || fail "the volume stayed"
