#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=400
# 200 versions on one volume: each costs what changed, all of them verify and can be read through one mount,
# old ones go, and the space serves again.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir source
for i in $(seq 0 30); do head -c 20000 /dev/urandom >source/$i; done
pack volume source --segment-size 1M --label n0
cp -a source as0
for ((i = 1; i < 200; i++)); do
    head -c 20000 /dev/urandom >source/$((i % 31))
    pack volume source --trust-mtime --label n$i
    [ $((i % 100)) != 99 ] || cp -a source as$i
done
assert_eq "versions" "$(datasetfsctl list --json volume | grep -o '"sequence"' | wc -l)" 200
# 31 files, then 20 KB, an index and a catalogue for each.
size=$(stat -c %s volume)
[ "$size" -lt $((64 << 20)) ] || fail "200 versions take $size bytes"
datasetfsctl verify volume >verify.out || fail "verify: $(tail -n 3 verify.out)"
cp volume all
for ((i = 0; i < 199; i++)); do
    datasetfsctl remove volume n$i >/dev/null 2>&1 || fail "remove n$i"
done
before=$(datasetfsctl dump volume n199 | sha256sum)
for ((i = 200; i < 240; i++)); do
    head -c 400000 /dev/urandom >source/large
    pack volume source --trust-mtime --label n$i
done
[ "$(stat -c %s volume)" -lt $((size + (4 << 20))) ] || fail "the volume grew from $size to $(stat -c %s volume) bytes"
assert_eq "dump of the oldest" "$(datasetfsctl dump volume n199 | sha256sum)" "$before"
datasetfsctl verify volume >verify.out || fail "verify: $(tail -n 3 verify.out)"

need_fuse
mount_volume all mnt
assert_eq "versions of the mount" "$(cd mnt/.datasetfs/versions && printf '%s\n' * | sort -V)" \
    "$(printf 'n%s\n' {0..199})"
for i in 0 99 199; do
    compare as$i mnt/.datasetfs/versions/n$i
done
compare as199 mnt
unmount mnt
