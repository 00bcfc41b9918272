#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once timeout=600
# torchvision's ImageFolder in DataLoaders gives the same batches on a mount without and with datasetfs-run: no workers,
# workers that fork, that are spawned and that come from a fork server.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/preload.sh"
need_fuse
/usr/bin/python3 -c 'import torch, torchvision, PIL' 2>/dev/null ||
    skip "no PyTorch: apt-get install python3-torch python3-torchvision"

data images
works "loaders" /usr/bin/python3 "$DATASETFS_SOURCE/tests/torch/preload_loaders.py"
assert_eq "loaders" "$(grep -c '48 images' plain/out)" 6
same_programs 1
