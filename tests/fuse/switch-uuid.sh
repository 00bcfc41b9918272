#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan
# A version by its UUID: one that was removed while it is open, as a barrier that fails goes back to it;
# one that compaction moved where it lies now.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

# switch_to UUID: prints the sequence
switch_to() {
    PYTHONPATH=$DATASETFS_SOURCE/contrib/python python3 -c '
import sys, datasetfs
try:
    print(datasetfs.Mount("mnt").switch(uuid=sys.argv[1]).sequence)
except datasetfs.SwitchError as error:
    sys.exit(error.strerror)' "$1"
}

one_open() {
    [ "$(python3 -c 'import json; print(len(json.load(open("mnt/.datasetfs/stats.json"))["generations"]))')" = 1 ]
}

mkdir source1
for ((n = 0; n < 40; n++)); do
    head -c 50000 /dev/urandom >source1/f$n
done
cp -r source1 source2
for ((n = 0; n < 40; n++)); do
    [ $((n % 4)) = 0 ] || head -c 50000 /dev/urandom >source2/f$n
done
pack volume source1 --label v1 --segment-size 1M
mount_volume volume mnt
pack volume source2 --label v2
first=$(datasetfsctl list volume --json | json versions.0.uuid /dev/stdin)
second=$(datasetfsctl list volume --json | json versions.1.uuid /dev/stdin)

exec 5<mnt/f1
assert_eq "sequence of v2" "$(switch_to "$second")" 2
compare source2 mnt
datasetfsctl remove volume v1 2>/dev/null >&2 || fail "remove v1"
assert_eq "sequence of v1" "$(switch_to "$first")" 1
compare source1 mnt
assert_eq label "$(json label mnt/.datasetfs/version)" v1
switch_to "$second" >/dev/null || fail "switch to v2"
exec 5<&-
wait_for 20 one_open || fail "v1 is not closed: $(cat mnt/.datasetfs/stats.json)"
assert_fails 1 "the volume has no version with the UUID $first" switch_to "$first"
assert_eq label "$(json label mnt/.datasetfs/version)" v2

datasetfsctl compact --force --json volume >compact.json 2>/dev/null || fail "compact"
now=$(json versions.0.sequence compact.json)
[ "$now" -gt 2 ] || fail "v2 was not moved: $(cat compact.json)"
assert_eq "sequence of v2 after compaction" "$(switch_to "$second")" "$now"
compare source2 mnt
unmount mnt
