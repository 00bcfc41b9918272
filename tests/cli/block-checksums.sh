#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# Block checksums: which files have them, the same bytes for any number of threads, what becomes of them when content
# is shared, compressed or not read, and that verify sees each of their blocks.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/clock.sh"

# publish VOLUME NAME OPTIONS…: its summary in NAME.json
publish() {
    mkdatasetfs --json --progress none --label "$2" "${@:3}" "$1" source >"$2.json" 2>"$2.err" ||
        fail "$2: $(cat "$2.err")"
}

# rows VOLUME LABEL: how many chunks have a row, by the head of the section
rows() {
    python3 - "$1" "$(datasetfsctl list --json "$1")" "$2" <<'END'
import json, struct, sys
volume, listed, label = sys.argv[1:]
version, = [v for v in json.loads(listed)["versions"] if v["label"] == label]
if not version["block_checksums"]:
    print(0)
    sys.exit()
where, = version["block_checksums"]
with open(volume, "rb") as file:
    file.seek(where["offset"])
    magic, chunks, rows, _ = struct.unpack("<8sQQQ", file.read(32))
    bits = int.from_bytes(file.read((chunks + 7) // 8), "little")
assert magic == b"DSFSFIN\n" and chunks == version["chunks"] and bin(bits).count("1") == rows, (magic, chunks, rows)
print(rows)
END
}

# where VOLUME LABEL: offset and length of the section
where() {
    datasetfsctl list --json "$1" | python3 -c '
import json, sys
version, = [v for v in json.load(sys.stdin)["versions"] if v["label"] == sys.argv[1]]
print(version["block_checksums"][0]["offset"], version["block_checksums"][0]["length"])' "$2"
}

clean() {
    datasetfsctl verify "$1" >verify.out || fail "verify $1: $(cat verify.out)"
}

mkdir source
head -c 3000000 /dev/urandom >source/large
cp source/large source/copy
head -c $((1 << 20)) /dev/urandom >source/small
head -c 1500000 <(yes "compresses well") >source/text
{ head -c 2000000 /dev/urandom; } >source/sparse
truncate -s 9000000 source/sparse
printf end >>source/sparse

say "who has rows"
publish volume first
# 3000000 bytes are 23 chunks, twice; 1500000 are 12; 2000000 are 16, and one behind the hole; 1 MiB has none.
assert_eq "rows" "$(rows volume first)" $((23 + 23 + 12 + 16 + 1))
assert_eq "block_checksum_bytes" "$(json block_checksum_bytes first.json)" \
    "$(datasetfsctl list --json volume | json versions.0.block_checksum_bytes)"
clean volume
publish frames frames --format --compress zstd
assert_eq "rows beside frames" "$(rows frames frames)" $((23 + 23 + 15))
clean frames
publish tiny blocks --format --chunk-size 4K
assert_eq "rows of chunks of one block" "$(rows tiny blocks)" 0
assert_eq "block_checksum_bytes of chunks of one block" "$(json block_checksum_bytes blocks.json)" 0
for size in 8K 1M; do
    publish $size x --format --chunk-size $size
    clean $size
    [ "$(rows $size x)" -gt 3 ] || fail "no rows with chunks of $size"
done

say "any number of threads"
for jobs in 1 2 16; do
    SOURCE_DATE_EPOCH=1 publish threads threads --format --uuid 01234567-89ab-cdef-0123-456789abcdef \
        --compress auto -j $jobs
    hash_of threads >>hashes
done
assert_eq "different volumes" "$(sort -u hashes | wc -l)" 1

say "shared content, and content that is not read"
spoil source/large 1500000
later publish volume second
assert_eq "rows of the second" "$(rows volume second)" $((23 + 23 + 12 + 16 + 1))
[ "$(json shared_bytes second.json)" -gt 5000000 ] || fail "only $(json shared_bytes second.json) bytes are shared"
later publish volume trusted --trust-mtime=second
assert_eq "bytes read with --trust-mtime" "$(json read_bytes trusted.json)" 0
assert_eq "rows with --trust-mtime" "$(rows volume trusted)" $((23 + 23 + 12 + 16 + 1))
publish volume zstd --compress zstd
assert_eq "rows of raw chunks in a version of frames" "$(rows volume zstd)" $((23 + 23 + 12 + 16 + 1))
clean volume

say "a version that is trusted and has damaged sums"
read -r offset length < <(where volume trusted)
spoil volume $((offset + length - 5000))
publish volume half --trust-mtime=trusted
assert_contains "messages" "$(cat half.err)" \
    "unread files get only some of their block checksums: block checksums: page"
assert_eq "messages" "$(wc -l <half.err)" 1
[ "$(rows volume half)" -gt 0 ] || fail "no rows are left"
[ "$(rows volume half)" -lt $((23 + 23 + 12 + 16 + 1)) ] || fail "all rows are there"
spoil volume $((offset + 4))
publish volume none --trust-mtime=trusted
assert_contains "messages" "$(cat none.err)" \
    "unread files get no block checksums: block checksums: bad magic, ignoring"
assert_eq "rows" "$(rows volume none)" 0
exits 1 datasetfsctl verify volume trusted >verify.out 2>&1
assert_contains "verify" "$(cat verify.out)" "damaged block checksums: bad magic version=trusted"
datasetfsctl verify volume second none >verify.out || fail "the others: $(cat verify.out)"

say "verify sees every page"
read -r offset length < <(where volume second)
spoil volume $((offset + length - 4096 + 100))
exits 1 datasetfsctl verify volume second >verify.out 2>&1
assert_contains "verify" "$(cat verify.out)" "block checksums: page"

say "a device with room for everything else"
need_loop
rm -r source
mkdir source
head -c 1250000 /dev/urandom >source/large
# The smallest device that takes the version at all has no room for its block checksums.
low=500 high=1000
while [ $((high - low)) -gt 1 ]; do
    blocks=$(((low + high) / 2))
    rm -f image
    truncate -s $((blocks * 4096)) image
    loop_device image
    if mkdatasetfs --progress none "$LOOP" source >pack.out 2>&1; then
        high=$blocks
    else
        grep -qE "volume (is full|'$LOOP' is too small)" pack.out || fail "a device of $blocks blocks: $(cat pack.out)"
        low=$blocks
    fi
done
rm -f image
truncate -s $((high * 4096)) image
loop_device image
mkdatasetfs --progress none "$LOOP" source >pack.out 2>&1 || fail "$(cat pack.out)"
assert_contains "messages" "$(cat pack.out)" "no free extent is large enough for the block checksums"
assert_eq "rows" "$(rows "$LOOP" v1)" 0
clean "$LOOP"
