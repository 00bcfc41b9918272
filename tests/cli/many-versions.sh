#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=400
# 120 versions on one volume, 200 with --all: each costs what changed, all of them verify and can be read through one
# mount, old ones go, and the space serves again.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir source
for i in $(seq 0 30); do head -c 20000 /dev/urandom >source/$i; done
pack volume source --segment-size 1M --label n0
cp -a source as0
count=$(length 120 200)
last=n$((count - 1))
for ((i = 1; i < count; i++)); do
    head -c 20000 /dev/urandom >source/$((i % 31))
    pack volume source --trust-mtime --label n$i
    [ $i != $((count / 2)) ] || cp -a source as$i
done
cp -a source as$((count - 1))
assert_eq "versions" "$(datasetfsctl list --json volume | grep -o '"sequence"' | wc -l)" "$count"
# 31 files, then 20 KB, an index and a catalogue for each.
size=$(stat -c %s volume)
[ "$size" -lt $((count * 330000)) ] || fail "$count versions take $size bytes"
datasetfsctl verify volume >verify.out || fail "verify: $(tail -n 3 verify.out)"
cp volume all
for ((i = 0; i < count - 1; i++)); do
    datasetfsctl remove volume n$i >/dev/null 2>&1 || fail "remove n$i"
done
before=$(datasetfsctl dump volume $last | sha256sum)
for ((i = count; i < count + count / 6; i++)); do
    head -c 400000 /dev/urandom >source/large
    pack volume source --trust-mtime --label n$i
done
[ "$(stat -c %s volume)" -lt $((size + (4 << 20))) ] || fail "the volume grew from $size to $(stat -c %s volume) bytes"
assert_eq "dump of the oldest" "$(datasetfsctl dump volume $last | sha256sum)" "$before"
datasetfsctl verify volume >verify.out || fail "verify: $(tail -n 3 verify.out)"

need_fuse
mount_volume all mnt
assert_eq "versions of the mount" "$(cd mnt/.datasetfs/versions && printf '%s\n' * | sort -V)" \
    "$(seq -f 'n%g' 0 $((count - 1)))"
for i in 0 $((count / 2)) $((count - 1)); do
    compare as$i mnt/.datasetfs/versions/n$i
done
compare as$((count - 1)) mnt
unmount mnt
