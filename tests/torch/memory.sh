#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once timeout=1800
# Sixteen workers of a DataLoader over a whole epoch: the memory that is each one's own does not grow.
. "$(dirname "$0")/../lib/common.sh"
/usr/bin/python3 -c 'import torch' 2>/dev/null || skip "no PyTorch: apt-get install python3-torch"
grep -q '^Private_Dirty:' /proc/self/smaps_rollup 2>/dev/null || skip "no /proc/PID/smaps_rollup"
files=$(length 40000 1500000)
need_space $((files / 150 + 100))

/usr/bin/python3 - "$files" <<'END_OF_PYTHON'
import os
import sys

for number in range(files := int(sys.argv[1])):
    folder = f"tree/{number * 100 // files:02}"
    if number * 100 % files < 100:
        os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{number:07}", "wb", buffering=0) as file:
        file.write(b"%d" % number * 20)
END_OF_PYTHON
pack volume tree
rm -r tree
export PYTHONPATH=$DATASETFS_BUILD/root/usr/share/datasetfs/python
/usr/bin/python3 "$DATASETFS_SOURCE/tests/torch/workers_memory.py" volume "$files" >memory.log 2>&1 ||
    { cat memory.log; fail "the workers"; }
cat memory.log
