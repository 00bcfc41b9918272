#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=gcc queue=loops
# A sampler has the kernel, which serves the mount, read the next files: in their order, as many as may be kept, and no
# others; and leaves nothing behind.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/kernel.sh"
need_kernel_mounts
need_command python3
hold_caches # what was read ahead stays

mkdir source
python3 - <<'END'
import os
for i in range(160):
    with open(f"source/f{i:03}", "wb") as out:
        out.write(os.urandom(100 + i * 700))
END
pack volume source

# announce WHAT ARGUMENT…
announce() {
    python3 "$DATASETFS_SOURCE/tests/fuse/kernel_prefetch.py" "$@" || fail "kernel_prefetch.py $*"
}

kernel_mount volume
announce ahead theirs source
announce bounded theirs
announce left theirs
announce numbers theirs
