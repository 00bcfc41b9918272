#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once timeout=600
# Data sets of the Python package in real DataLoaders: equal to torchvision's ImageFolder on the mount; workers that
# fork, are spawned and come from a fork server; four ranks, then three that go on where these were; a switch under it.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
/usr/bin/python3 -c 'import torch, torchvision, PIL' 2>/dev/null ||
    skip "no PyTorch: apt-get install python3-torch python3-torchvision"

/usr/bin/python3 - <<'END_OF_PYTHON'
import os
import random
from PIL import Image

rng = random.Random(1)
for kind, count in (("ant", 90), ("bee", 120), ("cow/brown", 30), ("cow/brown-black", 25), ("cow", 20)):
    os.makedirs(f"tree/{kind}", exist_ok=True)
    for number in range(count):
        size = rng.randint(8, 40), rng.randint(8, 40)
        Image.frombytes("RGB", size, rng.randbytes(3 * size[0] * size[1])).save(f"tree/{kind}/{number:03}.png")
os.symlink("../ant/001.png", "tree/bee/soft.png")
os.link("tree/ant/002.png", "tree/bee/hard.png")
open("tree/bee/notes.txt", "w").write("no image")
END_OF_PYTHON
pack volume tree --label one
cp -r tree next
rm -r next/ant
pack volume next --label two
datasetfsctl current volume one
mkdir mnt
mount_volume volume mnt
export PYTHONPATH=$DATASETFS_BUILD/root/usr/share/datasetfs/python
/usr/bin/python3 "$DATASETFS_SOURCE/tests/torch/loaders.py" mnt >loaders.log 2>&1 ||
    { cat loaders.log; fail "the data sets"; }
cat loaders.log
assert_eq "lines" "$(grep -c '^ok: ' loaders.log)" 8
