#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once timeout=600
# Batches as one tensor of bytes, by workers of every kind, that stay or not: the same bytes in the same order as lists
# of bytes. Where there is a GPU, CUDA is in use before the workers begin, and memory is pinned.
. "$(dirname "$0")/../lib/common.sh"
/usr/bin/python3 -c 'import torch' 2>/dev/null || skip "no PyTorch: apt-get install python3-torch"

/usr/bin/python3 - <<'END_OF_PYTHON'
import os
import random

rng = random.Random(1)
for kind in ("ant", "bee"):
    os.makedirs(f"tree/{kind}")
    for number in range(700):
        with open(f"tree/{kind}/{number:03}.png", "wb") as file:
            file.write(rng.randbytes(rng.choice((0, 1, rng.randint(2, 9000)))))
END_OF_PYTHON
pack volume tree
export PYTHONPATH=$DATASETFS_BUILD/root/usr/share/datasetfs/python
/usr/bin/python3 -W ignore "$DATASETFS_SOURCE/tests/torch/collate.py" volume >collate.log 2>&1 ||
    { cat collate.log; fail "the batches"; }
cat collate.log
assert_eq "lines" "$(grep -c '^ok: ' collate.log)" 8
