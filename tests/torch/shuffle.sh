#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once timeout=600
# Orders of blocks in real DataLoaders: the sampler finds out how many workers there are, every file comes once and is
# read in runs, four ranks are followed by three.
. "$(dirname "$0")/../lib/common.sh"
need_loop
/usr/bin/python3 -c 'import torch' 2>/dev/null || skip "no PyTorch: apt-get install python3-torch"

/usr/bin/python3 - <<'END_OF_PYTHON'
import os
import random

rng = random.Random(1)
for number in range(8000):
    os.makedirs(f"tree/{number // 1000}", exist_ok=True)
    with open(f"tree/{number // 1000}/{number:04}", "wb") as file:
        file.write(rng.randbytes(rng.randint(1, 8000)))
END_OF_PYTHON
pack tree.dsfs tree
pack random.dsfs tree --order random
export PYTHONPATH=$DATASETFS_BUILD/root/usr/share/datasetfs/python
orders=random
[ "$DATASETFS_FULL" = 0 ] || orders="tree random"
for order in $orders; do
    loop_device $order.dsfs --read-only --direct-io=on
    /usr/bin/python3 -W ignore "$DATASETFS_SOURCE/tests/torch/shuffle.py" "$LOOP" tree $order >$order.log 2>&1 ||
        { cat $order.log; fail "$order order"; }
    cat $order.log
    assert_eq "lines" "$(grep -c '^ok: ' $order.log)" 6
done
