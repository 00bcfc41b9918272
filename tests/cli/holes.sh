#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# Long holes: a list instead of a record for each of their chunks, the same digest, and nothing changes for a tree
# without one; versions with and without, shared, trusted, removed and moved.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/clock.sh"

chunk=131072
truncate -s 1T large-file 2>/dev/null || skip "no files of 1 TiB in $PWD"

# listed VOLUME PATH
listed() {
    datasetfsctl list --json "$1" | json "$2"
}

# lines VOLUME FILE: what the dump says of the content of a file in the root
lines() {
    datasetfsctl dump "$1" | awk -v name="$2" '/^[0-9]/ { on = $NF == name; next } on'
}

# Data at the start, in the middle across a chunk's end, and at the end; the dump is the one of a release without lists.
mkdir -p source short
seq 60000 >numbers
head -c 300000 numbers >source/islands
seq 100000 199999 | dd of=source/islands bs=64K seek=$((1 << 30)) oflag=seek_bytes conv=notrunc status=none
seq 7000 | dd of=source/islands bs=64K seek=$(((2 << 30) + 100000)) oflag=seek_bytes conv=notrunc status=none
pack volume source --label one --segment-size 1M
assert_eq "features" "$(listed volume versions.0.feature_incompat)" 2
assert_eq "records: 3, 6 and 2 of data, the head of the list and 2 holes" "$(listed volume versions.0.chunks)" 14
assert_eq "content in the dump" "$(lines volume islands | sha256sum)" \
    "82487674d8ab521c829b001a978b0034f2e580fb550f123c75c750db99eaa154  -"
datasetfsctl verify volume >verify.out || fail "verify: $(cat verify.out)"
assert_contains "holes" "$(cat verify.out)" "holes=$((16386 - 11)) "
datasetfsctl stat volume islands >stat.out || fail "stat"
assert_contains "a long hole of stat" "$(cat stat.out)" \
    "$(printf '%8d %16d %8d  hole' 3 $((3 * chunk)) $((8189 * chunk)))"

# From 1024 chunks on a hole goes into a list; without one the version is one for every release.
truncate -s $((1023 * chunk)) short/hole
{ echo content; } >short/file
pack short.dsfs short
assert_eq "features of a tree with short holes" "$(listed short.dsfs versions.0.feature_incompat)" 0
assert_eq "its records" "$(listed short.dsfs versions.0.chunks)" 1024
truncate -s $((1024 * chunk)) short/hole
pack short.dsfs short --label two
assert_eq "features of one with a long hole" "$(listed short.dsfs versions.1.feature_incompat)" 2
assert_eq "its records" "$(listed short.dsfs versions.1.chunks)" 3
datasetfsctl verify short.dsfs >verify.out || fail "verify of versions with and without: $(cat verify.out)"

# Zeros that are written are the same hole, whatever is tried and learnt meanwhile.
mkdir zeros
seq 300000 600000 >source/text
head -c 3M /dev/urandom >>source/islands.random
cp -p source/text zeros/
cp -p source/islands.random zeros/
for tree in source zeros; do
    mkdir -p $tree/more
    seq 900000 920000 >$tree/more/before.text
    truncate -s 150M $tree/more/hole.text
    seq 610000 640000 >>$tree/more/hole.text
    seq 1000000 1500000 >$tree/more/z-behind.text
done
rm zeros/more/hole.text
cp -p --sparse=never source/more/hole.text zeros/more/hole.text
mv source/islands .
find source zeros -exec touch -d @1700000000 {} +
for compress in none auto zstd; do
    pack sparse.dsfs source --uuid 00112233-4455-6677-8899-aabbccddeeff --compress $compress --format
    pack zeros.dsfs zeros --uuid 00112233-4455-6677-8899-aabbccddeeff --compress $compress --format
    cmp sparse.dsfs zeros.dsfs || fail "a volume of zeros that are written differs, compress=$compress"
done
assert_eq "features of zeros" $(($(listed zeros.dsfs versions.0.feature_incompat) & 2)) 2
rm -r zeros zeros.dsfs sparse.dsfs
mv islands source/

# A publish beside: nothing is stored again, read or trusted; the lists are the same.
later pack volume source --label two --trust-mtime
later pack volume source --label three --trust-mtime
later pack volume source --label four
assert_eq "stored for what is trusted" "$(listed volume versions.2.stored_bytes)" 0
assert_eq "stored for what was read" "$(listed volume versions.3.stored_bytes)" 0
for n in 2 3; do
    assert_eq "digest $n" "$(listed volume versions.$n.digest)" "$(listed volume versions.1.digest)"
    assert_eq "records $n" "$(listed volume versions.$n.chunks)" "$(listed volume versions.1.chunks)"
done

# Data comes into a hole, and goes.
dd if=/dev/urandom of=source/islands bs=$chunk count=1 seek=5000 conv=notrunc status=none
later pack volume source --label five --trust-mtime
assert_eq "records with one chunk in the hole" "$(listed volume versions.4.chunks)" \
    $(($(listed volume versions.1.chunks) + 2))
truncate -s $((1 << 30)) source/islands
pack volume source --label six --trust-mtime
assert_eq "chunks of version six" "$(lines volume islands | wc -l)" $((1 << 13))

# Records move, lists do not.
rm source/islands.random
pack volume source --label seven
dump=$(datasetfsctl dump volume seven | sha256sum)
for label in one two three four five six; do
    datasetfsctl remove volume $label 2>/dev/null >&2 || fail "remove $label"
done
datasetfsctl compact --below 100 --json volume >compact.json || fail "compact"
[ "$(json segments compact.json)" -gt 0 ] || fail "nothing was moved: $(cat compact.json)"
assert_eq "features after compact" "$(listed volume versions.0.feature_incompat)" 2
datasetfsctl verify volume >verify.out || fail "verify after compact: $(cat verify.out)"
assert_eq "dump after compact" "$(datasetfsctl dump volume seven | sha256sum)" "$dump"

# A hole of 1 TiB, with which an index had 168 MB.
mkdir tera
mv large-file tera/
echo end >>tera/large-file
pack tera.dsfs tera
[ "$(listed tera.dsfs versions.0.index_bytes)" -lt 65536 ] ||
    fail "an index of $(listed tera.dsfs versions.0.index_bytes) bytes"

# A hole that lists cannot say is refused at once, in a folder and in an archive: records of it would fill the disk.
mkdir -p peta/sub
truncate -s 1025G peta/sub/hole
tar -S -cf peta.tar -C peta .
for source in peta peta.tar; do
    assert_fails 1 "'sub/hole' has longer holes than a version can hold, 1.00 TiB with chunks of 4.00 KiB: leave it $(
        )out, or use a larger --chunk-size" mkdatasetfs --progress none --chunk-size 4K peta.dsfs $source
    [ ! -e peta.dsfs ] || fail "a volume is left"
done
pack peta.dsfs peta.tar --chunk-size 8K
assert_eq "its size" "$(listed peta.dsfs versions.0.content_bytes)" $((1025 << 30))

# The middle of a hole is skipped: of so many MiB only the first ones, and what is left of the last, are read.
mkdir skip
truncate -s 8G skip/hole
need_command strace
ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" strace -f -e trace=openat -o trace \
    mkdatasetfs skip.dsfs skip >/dev/null 2>&1 ||
    skip "strace cannot trace here"
opened=$(grep -c '"hole"' trace)
[ "$opened" -gt 0 ] && [ "$opened" -lt 200 ] || fail "a hole of 8192 MiB was opened $opened times"
