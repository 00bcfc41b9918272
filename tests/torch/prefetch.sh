#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once timeout=300
# PrefetchSampler in real DataLoaders over torchvision's ImageFolder on a mount: batches and their order are those
# without it, with workers that stay over epochs, an epoch that is broken off, and a Subset; the mount is told of every
# file. The same on a mount that the kernel serves.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/kernel.sh"
need_fuse
/usr/bin/python3 -c 'import torch, torchvision' 2>/dev/null ||
    skip "no PyTorch: apt-get install python3-torch python3-torchvision"

for kind in ant bee cow; do
    mkdir -p tree/$kind
    for i in {100..199}; do head -c $((3000 + i * 50)) /dev/urandom >tree/$kind/$i.png; done
done
pack volume tree
mkdir mnt
mount_volume volume mnt -o readahead=off
export PYTHONPATH=$DATASETFS_BUILD/root/usr/share/datasetfs/python
cat >load.py <<'END'
import json
import sys
import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, Subset
from torchvision.datasets import ImageFolder
from datasetfs import PrefetchSampler


MOUNT, is_told = sys.argv[1], sys.argv[2] == "told"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def announced():
    if not is_told:
        return 0
    with open(f"{MOUNT}/.datasetfs/stats.json") as file:
        return json.load(file)["prefetch_announced"]


def batches(files):
    return BatchSampler(RandomSampler(files, generator=torch.Generator().manual_seed(3)), 16, drop_last=False)


def load(files, sampler, **words):
    return DataLoader(files, batch_sampler=sampler, collate_fn=list, **words)


data = ImageFolder(MOUNT, loader=read)
for files in data, Subset(data, range(10, 250)):
    expected = load(files, batches(files))
    before = announced()
    found = load(files, PrefetchSampler(batches(files), MOUNT, files), num_workers=2, persistent_workers=True)
    for epoch in range(2):
        assert list(found) == list(expected), "other batches"
    assert announced() == before + is_told * 2 * len(files), (announced(), before)
    for number, batch in enumerate(found):
        if number == 3:
            break
    next(iter(expected))
    assert len(list(found)) == len(expected), "after an epoch that was broken off"
single = DataLoader(data, 8, sampler=PrefetchSampler(range(300), MOUNT, data, batch_size=8), collate_fn=list)
assert [item for batch in single for item in batch] == list(data), "single indices"
END
/usr/bin/python3 -W error::RuntimeWarning load.py mnt told || fail "a DataLoader"
[ "$(stats mnt prefetch_files)" -gt 300 ] || fail "$(stats mnt prefetch_files) files were read ahead"
compare tree mnt
unmount mnt

if is_root && (need_loop && need_mount && need_filesystem erofs) >/dev/null; then
    kernel_mount volume
    /usr/bin/python3 -W error::RuntimeWarning load.py theirs silent || fail "a DataLoader, on a mount by the kernel"
    umount theirs
fi
