# SPDX-License-Identifier: MIT
"""Batches of 256 files as bytes, shuffled, by PyTorch's DataLoader: nothing is decoded and nothing trained.

usage: loader.py MODE WHERE LIST WORKERS (0: in this process) BATCHES (0: all) SEED; the protocol is that of reader.c.
MODE lib: datasetfs.DataSet; lib-blocks, lib-random: the same with Sampler(…, shuffle="blocks"); folder: torchvision's
ImageFolder with a loader that reads bytes; shards, shards-raw: tar files, by tarfile and by shards.by_blocks();
shards-large: by tarfile, with a buffer as large as that of blocks; carry: a data set that reads nothing and gives as
many bytes, which shows what it costs to bring them from the workers. …-joined: a batch is one tensor, by
datasetfs.collate_bytes(), of which the loop touches every page; lib-joined: in blocks; shards-joined: by by_blocks().
The clock runs from the making of the data set on; "scan_seconds" is the time until there was a loader,
"first_seconds" the time until the first batch was there.
"""
import array
import json
import os
import resource
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

import shards

BATCH = 256
LARGE = 8192  # files that Sampler(…, shuffle="blocks") mixes where they have 8 KB
PAGE = 4096


class Carry(Dataset):
    """As many bytes as the files have."""

    def __init__(self, sizes):
        self.sizes = sizes

    def __len__(self):
        return len(self.sizes)

    def __getitem__(self, index):
        return bytes(self.sizes[index])


class Shards(IterableDataset):
    """What tar files hold. Each worker reads its own, so none of a batch's files comes from another worker's."""

    def __init__(self, where, seed, read, room=shards.ROOM):
        self.where, self.seed, self.read, self.room = where, seed, read, room

    def __iter__(self):
        info = get_worker_info()
        share = (info.id, info.num_workers) if info else (0, 1)
        return shards.epoch(self.where, self.seed, *share, self.read, self.room)


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def folder_of(where):
    from torchvision import datasets

    return datasets.ImageFolder(where, loader=read_bytes, is_valid_file=lambda path: True)


def datasetfs_of():
    import datasetfs  # rivals do without

    return datasetfs


def data_of(where, transform=None):
    return datasetfs_of().DataSet(where, transform=transform, way="direct")


def full(data):
    """The order that DataLoader itself makes."""
    return data, {"batch_size": BATCH, "shuffle": True}


def blocks(data, seed):
    """What lies side by side is read at once, and mixed."""
    return data, {"batch_sampler": datasetfs_of().Sampler(data, seed=seed, batch_size=BATCH, shuffle="blocks")}


def joined(data, options):
    return data, options | {"collate_fn": datasetfs_of().collate_bytes}


def shards_of(where, seed, read, *room):
    return Shards(where, seed, read, *room), {"batch_size": BATCH}


# Mode → (data set, what else DataLoader is given).
MODES = {
    "lib": lambda where, seed, sizes: full(data_of(where)),
    "lib-blocks": lambda where, seed, sizes: blocks(data_of(where), seed),
    "lib-random": lambda where, seed, sizes: blocks(data_of(where), seed),
    "lib-joined": lambda where, seed, sizes: joined(*blocks(data_of(where, memoryview), seed)),
    "folder": lambda where, seed, sizes: full(folder_of(where)),
    "carry": lambda where, seed, sizes: full(Carry(sizes)),
    "carry-joined": lambda where, seed, sizes: joined(*full(Carry(sizes))),
    "shards": lambda where, seed, sizes: shards_of(where, seed, shards.by_tarfile),
    "shards-large": lambda where, seed, sizes: shards_of(where, seed, shards.by_tarfile, LARGE),
    "shards-raw": lambda where, seed, sizes: shards_of(where, seed, shards.by_blocks),
    "shards-joined": lambda where, seed, sizes: joined(*shards_of(where, seed, shards.by_blocks)),
}


def sizes_in(batch):
    """Of its files, which are one tensor, bytes, or pairs of bytes and class."""
    if hasattr(batch, "values"):
        batch.values[::PAGE].sum()
        return batch.sizes
    return list(map(len, batch if isinstance(batch[0], bytes) else [content for content, _ in batch]))


def same(items):
    return items


def read_all(loader, begun, batches):
    count = size = first = 0
    for number, batch in enumerate(loader, 1):
        sizes = sizes_in(batch)
        first = first or time.monotonic() - begun
        count += len(sizes)
        size += sum(sizes)
        if number == batches:
            break
    return {"count": count, "bytes": size, "first_seconds": first}


def used_cpu():
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in usage)


def main():
    mode, where, listed = sys.argv[1:4]
    workers, batches, seed = (int(word) for word in sys.argv[4:7])
    torch.manual_seed(seed)
    sizes = sizes_of(listed) if mode.startswith("carry") else None
    print("ready", flush=True)
    sys.stdin.readline()
    begun, cpu = time.monotonic(), used_cpu()
    data, options = MODES[mode](where, seed, sizes)
    loader = DataLoader(data, num_workers=workers, **{"collate_fn": same} | options)
    scanned = time.monotonic() - begun
    result = read_all(loader, begun, batches)
    took = time.monotonic() - begun
    del loader
    print(json.dumps(result | {"seconds": took, "scan_seconds": scanned, "reader_cpu": used_cpu() - cpu}), flush=True)


def sizes_of(listed):
    """Of the files in the tree beside the list."""
    top = os.path.join(os.path.dirname(listed), "tree")
    with open(listed, encoding="utf-8") as file:
        return array.array("Q", [os.stat(os.path.join(top, path)).st_size for path in file.read().splitlines()])


main()
