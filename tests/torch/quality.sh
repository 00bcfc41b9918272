#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once in=none timeout=600
# tests/bench/quality.py trains in every shuffle, with few images, and the sampler warns where classes are sorted and
# the buffer is small, and nowhere else. Nothing about how well a network learns.
. "$(dirname "$0")/../lib/common.sh"
/usr/bin/python3 -c 'import torch, torchvision, numpy' 2>/dev/null ||
    skip "no PyTorch: contrib/examples/run installs python3-torch and python3-torchvision"

export PYTHONPATH=$DATASETFS_BUILD/root/usr/share/datasetfs/python
TMPDIR=$PWD /usr/bin/python3 -B "$DATASETFS_SOURCE/tests/bench/quality.py" --seeds 2 --epochs 1 --images 768 \
    --classes 8 >quality.log || { cat quality.log; fail "quality.py"; }
cat quality.log
grep -E '^[a-z].*: (warned|no warning)$' quality.log >warned
diff warned - <<'END_OF_WARNED' || fail "other warnings"
full shuffle: no warning
blocks, random order, 32 in a buffer: no warning
blocks, tree order, 4 in a buffer: warned
blocks, tree order, 32 in a buffer: warned
blocks, tree order, 64 in a buffer: no warning
END_OF_WARNED
assert_eq "warnings" "$(grep -c '^  a block of 3 files has few classes' quality.log)" 2
assert_eq "accuracies" "$(grep -c '^  accuracy 0\.' quality.log)" 5
assert_eq "what is left" "$(ls -d datasetfs-quality.* 2>/dev/null)" ""
