#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan
# Small reads in a large file read the blocks around them and a page of block checksums, not a chunk; damage of the
# sums costs speed and nothing else; damage of content is told block by block.
. "$(dirname "$0")/../lib/common.sh"
need_fuse

mkdir source
head -c 40000001 /dev/urandom >source/large
seed=${SEED:-$RANDOM}

# where FIELD: of the section
where() {
    datasetfsctl list --json volume | json "versions.0.block_checksums.0.$1"
}

# reads COUNT EXPRESSION: so many random preads of 8 KiB are those of the source; EXPRESSION holds for the counters
# (their growth; bytes: what was served) and their values before (old). One more in what each page of sums speaks of,
# 512 blocks: the last one's are so few that one seed in seventy finds none of them.
reads() {
    python3 - "$seed" "$@" <<'END' || fail "seed $seed: reads of '$2'"
import json, os, random, sys
rng, count, claim = random.Random(int(sys.argv[1])), int(sys.argv[2]), sys.argv[3]
source, fd = os.open("source/large", os.O_RDONLY), os.open("mnt/large", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
size = os.fstat(source).st_size

def counters():
    return json.load(open("mnt/.datasetfs/stats.json"))

old = counters()
offsets = rng.sample(range(0, size, 8192), count) + list(range(0, size, 512 * 4096))
rng.shuffle(offsets)
for offset in offsets:
    if os.pread(fd, 8192, offset) != os.pread(source, 8192, offset):
        sys.exit(f"fail: other bytes at {offset}")
new = counters()
grown = {key: new[key] - old[key] for key in new if isinstance(new[key], int)}
grown["block_checksum_bytes"] = new["generations"][0]["block_checksum_bytes"]
print(grown)
if not eval(f"({claim})", {}, {**grown, "old": old}):
    sys.exit(f"fail: {claim}")
END
}

pack volume source
pages=$((($(where length) - 4096) / 4096))
for io in uring threads; do
    say "io=$io: seed $seed"
    mount_volume volume mnt -o io=$io
    reads 1000 "device_bytes - 4096 * block_checksum_reads <= bytes_served + 4096 and
        block_checksum_bytes > 0 and block_checksum_fallbacks == 0"
    [ "$(stats mnt block_checksum_reads)" -ge "$pages" ] ||
        fail "$(stats mnt block_checksum_reads) pages of sums were read, there are $pages"
    [ "$(stats mnt block_checksum_reads)" -le $((pages * 8)) ] ||
        fail "$(stats mnt block_checksum_reads) reads of $pages pages of sums"
    [ "$(stats mnt block_checksum_hits)" -ge 500 ] ||
        fail "$(stats mnt block_checksum_hits) pages of sums were in the cache"
    unmount mnt
    mount_volume volume mnt -o io=$io
    cmp source/large mnt/large || fail "a sequential read differs"
    # The kernel asks twice for what a test beside this one has it drop before cmp gets there.
    served=$(stats mnt bytes_served)
    [ "$(stats mnt device_bytes)" -le $((served * 102 / 100)) ] ||
        fail "$(stats mnt device_bytes) bytes for a sequential read of $served"
    unmount mnt
done

say "damaged pages"
cp volume good
at=$(($(where offset) + $(where length) - 4096 * pages + 100))
printf '\252\125' | dd of=volume bs=1 seek=$at conv=notrunc status=none
: >daemon.log
mount_volume volume mnt
reads 1000 "block_checksum_fallbacks >= 1 and block_checksum_fallbacks < 20 and read_failures == 0 and
    checksum_failures == 0"
assert_contains "the log" "$(cat daemon.log)" \
    "cannot use the block checksums of '/large': block checksums: page 0 has the sum"
cmp source/large mnt/large || fail "the file differs"
unmount mnt

say "a damaged head"
printf '\252\125' | dd of=volume bs=1 seek=$(($(where offset) + 40)) conv=notrunc status=none
: >daemon.log
mount_volume volume mnt
reads 200 "block_checksum_reads == 0 and block_checksum_bytes == 0 and read_failures == 0"
assert_contains "the log" "$(cat daemon.log)" "version 'v1' is served without its block checksums"
assert_contains "the log" "$(cat daemon.log)" "the SHA-256 of their head is not the one in the catalogue"
unmount mnt

say "damage while it is mounted"
cp good volume
mount_volume volume mnt
python3 - volume "$(where offset)" "$(where length)" <<'END'
import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(int(sys.argv[2]) + 4096)
    file.write(bytes(int(sys.argv[3]) - 4096))
END
reads 500 "block_checksum_fallbacks >= 1 and read_failures == 0"
unmount mnt

say "a damaged block"
cp good volume
read -r _ _ _ offset _ < <(datasetfsctl stat --json volume large | python3 "$LIB/chunks.py" | sed -n 3p)
printf '\252\125' | dd of=volume bs=1 seek=$((offset + 50000)) conv=notrunc status=none
: >daemon.log
mount_volume volume mnt
python3 - $((2 * 131072)) <<'END' || fail "reads around a damaged block"
import errno, os, sys
start = int(sys.argv[1])
source, fd = os.open("source/large", os.O_RDONLY), os.open("mnt/large", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
for block in range(32):
    try:
        found = os.pread(fd, 4096, start + block * 4096)
    except OSError as error:
        if block != 50000 // 4096 or error.errno != errno.EIO:
            sys.exit(f"fail: block {block}: {error}")
        continue
    if block == 50000 // 4096 or found != os.pread(source, 4096, start + block * 4096):
        sys.exit(f"fail: block {block} gave other bytes or should have failed")
END
assert_contains "the log" "$(cat daemon.log)" "read of '/large' failed: chunk sum"
unmount mnt
