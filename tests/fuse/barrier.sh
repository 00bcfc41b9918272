#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=tsan
# epoch_barrier() of eight ranks that share one mount, which takes three commands at a time.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

# So many names that loading a version takes longer than eight ranks need to ask for it.
python3 - <<'END'
import os
for version in ("one", "two"):
    for number in range(20000):
        if number % 1000 == 0:
            os.makedirs(f"{version}/{number // 1000}")
        os.close(os.open(f"{version}/{number // 1000}/{version}-{number}", os.O_CREAT | os.O_WRONLY))
END
pack volume one --label one
pack volume two --label two --no-current
mount_volume volume mnt -o io=threads,channel=dev
python3 "$DATASETFS_SOURCE/tests/fuse/barrier.py" volume mnt two one two one two || fail "the ranks"
assert_eq "the version" "$(json label mnt/.datasetfs/version)" two
assert_eq "switches" "$(stats mnt switches)" 5
unmount mnt
