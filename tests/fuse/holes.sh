#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon channels in=asan timeout=300
# Files with long holes through a mount: bytes at the start, in the middle, at the end and across every border,
# SEEK_DATA and SEEK_HOLE, st_blocks; beside a version that has none.
. "$(dirname "$0")/../lib/common.sh"
need_fuse

mkdir source other
truncate -s 64G source/huge 2>/dev/null || skip "no files of 64 GiB in $PWD"
python3 - <<'END'
import os, random
rng = random.Random(5)
# A chunk has 128 KiB. Data at odd places, next to borders of chunks, in a chunk of its own, at the end.
size = 64 << 30
places = [(0, 1), ((1 << 30) - 1, 2), (5 << 30, 300000), (20 << 30, 131072), ((40 << 30) - 70000, 140000),
          (size - 1000, 1000)]
with open("source/huge", "r+b") as out:
    for at, length in places:
        out.seek(at)
        out.write(rng.randbytes(length))
with open("source/only", "wb") as out:
    out.truncate((400 << 20) + 5)
with open("source/begins", "wb") as out:
    out.seek(300 << 20)
    out.write(rng.randbytes(3 << 20))
with open("source/ends", "wb") as out:
    out.write(rng.randbytes(3 << 20))
    out.truncate(333333333)
END
echo other >other/file
pack volume other --label other
pack volume source --label holes
mount_volume volume mnt
compare source mnt
python3 - <<'END' || fail "reads of long holes"
import os, random, sys
CHUNK = 131072
rng = random.Random(6)


def differ(name, source, mount, at, length):
    if os.pread(source, length, at) != os.pread(mount, length, at):
        sys.exit(f"{name}: {length} bytes at {at} differ")


for name in sorted(os.listdir("source")):
    source, mount = os.open(f"source/{name}", os.O_RDONLY), os.open(f"mnt/{name}", os.O_RDONLY)
    size, borders, at = os.fstat(source).st_size, {0}, 0
    while at < size:  # where the source's data begins and ends, in whole chunks, is where the mount's does
        try:
            data = os.lseek(source, at, os.SEEK_DATA) // CHUNK * CHUNK
        except OSError:
            data = size
        found = -1
        try:
            found = os.lseek(mount, at, os.SEEK_DATA)
        except OSError:
            found = size
        if found != max(data, at):
            sys.exit(f"{name}: data from {at} on at {found}, expected {max(data, at)}")
        if found >= size:
            break
        hole = os.lseek(mount, found, os.SEEK_HOLE)
        borders |= {found, hole}
        if hole < size and os.pread(source, CHUNK, hole).strip(b"\0"):
            sys.exit(f"{name}: no hole at {hole}")
        at = hole
    for border in sorted(borders):
        for before in (0, 1, 4096, 5000, CHUNK, 700000):
            for length in (1, 4096, CHUNK + 1, 1 << 20, 3000001):
                differ(name, source, mount, max(0, border - before), length)
    for _ in range(50):
        differ(name, source, mount, rng.randrange(size), rng.randrange(1, 300000))
    print(name, len(borders), "borders")
    os.close(source)
    os.close(mount)

blocks = {name: os.stat(f"mnt/{name}").st_blocks for name in os.listdir("mnt") if not name.startswith(".")}
expected = {"huge": (1 + 2 + 3 + 1 + 2 + 1) * CHUNK // 512, "only": 0,
            "begins": (3 << 20) // 512, "ends": (3 << 20) // 512}
if blocks != expected:
    sys.exit(f"blocks {blocks}, expected {expected}")
END
assert_eq "the other version" "$(cat mnt/.datasetfs/versions/other/file)" "other"
[ "$(datasetfsctl list --json volume | json versions.1.index_bytes)" -lt 65536 ] || fail "the index is not small"
unmount mnt
