#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=tsan timeout=240
# 256 readers at once and thousands of open files, over io_uring and over the thread pool.
. "$(dirname "$0")/../lib/common.sh"
need_fuse

tree random source --seed 4 --files 400
find source -type l -delete
chmod -R u+rwX source
for io in uring threads; do
    pack $io.dsfs source --compress auto
    mount_volume $io.dsfs mnt -o io=$io
    drop_caches
    python3 "$DATASETFS_SOURCE/tests/fuse/concurrent.py" source mnt 256 "$(length 2000 5000)" || fail "io=$io"
    # Only the one that asks.
    wait_for 10 sh -c '[ "$(python3 "$LIB/json_value.py" in_flight mnt/.datasetfs/stats.json)" = 1 ]' ||
        fail "$(stats mnt in_flight) requests are in flight when nobody reads"
    assert_eq "checksum failures" "$(stats mnt checksum_failures)" 0
    unmount mnt
done
