#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan,tsan daemon
# libdatasetfs reads what the source has: whole files and ranges, into an arena and into buffers, by a queue, which
# reads neighbours together, by several threads on one handle; also where io_uring is refused.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

programs=$DATASETFS_BUILD/tests/library
seed=${SEED:-$RANDOM}
say "SEED=$seed"

# Small files side by side, compressed chunks, holes, tiny files in the index, files of several reads.
python3 - "$seed" <<'END'
import os, random, sys
rng = random.Random(int(sys.argv[1]))
noise = rng.randbytes(6 << 20)
text = b"".join(b"line %d of a text that compresses\n" % i for i in range(40000))
def put(name, data):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "wb") as file:
        file.write(data)
for i in range(400):
    start, size = rng.randrange(1 << 20), int(rng.lognormvariate(8.4, 1.3))
    put(f"source/small/{i % 7}/{i}", noise[start:start + size])
for i in range(60):
    put(f"source/text/{i}", text[:rng.randrange(1, 300000)])
for i, size in enumerate((0, 1, 7, 511, 512, 513, 4095, 4096, 4097, 131072, 131073, 1 << 20, (1 << 20) + 1, 5000001)):
    put(f"source/sizes/{i}", noise[:size])
for i in range(4):
    with open(f"source/sizes/holes{i}", "wb") as file:
        file.write(noise[:rng.randrange(200000)])
        file.seek(rng.randrange(300000, 3000000))
        file.write(noise[:rng.randrange(1, 300000)])
END
pack raw source
pack zstd source --compress zstd --chunk-size 16K

for volume in raw zstd; do
    "$programs/library-differential" $volume source "$seed" 4 "$(length 2 20)" || fail "$volume, SEED=$seed"
done
c_program lib/without_io_uring
rc=0
./without_io_uring true || rc=$?
if [ $rc != 77 ]; then
    ./without_io_uring "$programs/library-differential" raw source "$seed" 3 1 || fail "without io_uring, SEED=$seed"
fi
(ulimit -l 0 -n 30 && "$programs/library-differential" raw source "$seed" 3 1) || fail "small limits, SEED=$seed"
if can_loop; then
    loop_device raw --read-only
    "$programs/library-differential" "$LOOP" source "$seed" 3 1 || fail "on a device, SEED=$seed"
    loop_device raw --read-only --sector-size 4096
    "$programs/library-differential" "$LOOP" source "$seed" 3 1 || fail "with blocks of 4096, SEED=$seed"
    # neighbours VOLUME FILES OPTIONS…: of its folder of the source, at least so many files with a read of the device
    neighbours() {
        pack "$1.dsfs" "source/$1" "${@:3}"
        loop_device "$1.dsfs" --read-only
        "$programs/library-queue" "$LOOP" "source/$1" "/sys/block/${LOOP##*/}/stat" "$2" ||
            fail "neighbours, $1"
    }
    neighbours small 10
    neighbours text 2 --compress zstd
fi
