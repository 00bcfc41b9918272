# SPDX-License-Identifier: MIT
"""For shuffle.sh: a device with the files of a tree, read in blocks by real DataLoaders."""
import os
import sys

from torch.utils.data import DataLoader, Subset

import datasetfs
from checks import as_it_is, check, ok

BATCH = 64
WORDS = {"batch_size": BATCH, "shuffle": "blocks", "block": 256, "buffer": 2048}


def device_reads(device):
    with open(f"/sys/block/{os.path.basename(device)}/stat", encoding="ascii") as file:
        return int(file.read().split()[0])


def epoch(device, most, **words):
    """Batches of an epoch, which takes at most so many reads of the device a file."""
    data = datasetfs.DataSet(device)
    sampler = datasetfs.Sampler(data, **WORDS)
    before = device_reads(device)
    batches = list(DataLoader(data, batch_sampler=sampler, collate_fn=as_it_is, **words))
    reads = (device_reads(device) - before) / len(data)
    if reads > most:
        sys.exit(f"fail: {words}: {reads:.3f} reads a file, expected at most {most}")
    return batches, reads


def workers(device, contents, most):
    for number, context in ((0, None), (2, "fork"), (3, "spawn"), (4, "fork")):
        batches, reads = epoch(device, most, num_workers=number, multiprocessing_context=context)
        check("every file", sorted(item for batch in batches for item in batch), contents)
        order = datasetfs.Sampler(datasetfs.DataSet(device), workers=max(number, 1), **WORDS)
        data = datasetfs.DataSet(device)
        check(f"the order of {number} workers", batches[:9],
              [data[list(batch)] for _, batch in zip(range(9), order)])
        ok(f"{number} workers of {context}, {reads:.3f} reads a file")


def other_loaders(device, contents):
    """Epochs of workers that stay, batches by batch_size=None, and a Subset, whose batches are plain lists."""
    data = datasetfs.DataSet(device)
    sampler = datasetfs.Sampler(data, **WORDS)
    loader = DataLoader(data, batch_size=None, sampler=sampler, num_workers=2, collate_fn=as_it_is,
                        persistent_workers=True)
    for number in range(2):
        check(f"epoch {number}", sorted(item for batch in loader for item in batch), contents)
    half = Subset(data, range(4000))
    batches = DataLoader(half, batch_sampler=datasetfs.Sampler(4000, **WORDS), num_workers=2, collate_fn=as_it_is)
    check("a half", len({item for batch in batches for item in batch}), 4000)
    ok("workers that stay, and a Subset")


def ranks(device, contents):
    """Four ranks have some batches each, three with other workers go on."""
    data, had, state = datasetfs.DataSet(device), [], None
    for world, number, batches in ((4, 2, 9), (3, 1, None)):
        states = []
        for rank in range(world):
            sampler = datasetfs.Sampler(data, rank=rank, world=world, **WORDS)
            if state:
                sampler.load_state_dict(state)
            loader = DataLoader(data, batch_sampler=sampler, num_workers=number, collate_fn=as_it_is)
            count = 0
            for count, batch in enumerate(loader, 1):
                had += batch
                if count == batches:
                    break
            states.append(sampler.state_dict(batches=count))
        check("one state", [found == states[0] for found in states], [True] * world)
        state = states[0]
    check("the end", (state["epoch"], state["dealt"]), (1, []))
    check("every file", (sorted(set(had)), len(had) - len(contents) < 3), (contents, True))
    ok(f"{4 * 9 * BATCH} files by 4 ranks, the others by 3")


def main():
    device, tree, order = sys.argv[1:]
    contents = []
    for folder, _, names in os.walk(tree):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                contents.append(file.read())
    contents.sort()
    workers(device, contents, {"tree": 0.08, "random": 0.04}[order])
    other_loaders(device, contents)
    ranks(device, contents)


if __name__ == "__main__":
    main()
