# SPDX-License-Identifier: MIT
"""An epoch that is mixed in blocks of neighbours, or file by file, read by processes as a DataLoader has them.

usage: blocks.py ROOT LIST SECONDS (0: to the end) SEED PROCESSES full|prefetch|blocks; the protocol: reader.c.
full: the mount is told nothing; prefetch: PrefetchSampler tells it some batches ahead; blocks: PrefetchSampler around
blocks of 128 files that follow each other in the tree, of which 64 are mixed at a time.
"""
import json
import multiprocessing
import random
import resource
import sys
import time

from listed import files_of, known_to, read_file

BATCH, BLOCK, BLOCKS, QUEUE = 256, 128, 64, 2  # QUEUE: batches that each process has before it, as in PyTorch


class Full:
    """Batches of a full shuffle."""

    def __init__(self, count, seed):
        self.order = list(range(count))
        random.Random(seed).shuffle(self.order)

    def __iter__(self):
        for at in range(0, len(self.order), BATCH):
            yield self.order[at:at + BATCH]


class Blocks(Full):
    """Batches of blocks that come at random and are mixed within windows; see PrefetchSampler."""
    mixes_blocks = True

    def __init__(self, count, seed):
        rng = random.Random(seed)
        blocks = [range(at, min(at + BLOCK, count)) for at in range(0, count, BLOCK)]
        rng.shuffle(blocks)
        self.windows = [[index for block in blocks[at:at + BLOCKS] for index in block]
                        for at in range(0, len(blocks), BLOCKS)]
        self.order = [index for window in self.windows for index in rng.sample(window, len(window))]
        self.window_at = {index: number for number, window in enumerate(self.windows) for index in window}

    def windows_of(self, batch):
        first, last = self.window_at[batch[0]], self.window_at[batch[-1]] + 1
        return [(0, number) for number in range(first, min(last + 1, len(self.windows)))]

    def window(self, name):
        return self.windows[name[1]]


def sampler_of(way, root, files, seed):
    order = (Blocks if way == "blocks" else Full)(len(files[0]), seed)
    if way == "full":
        return order
    import datasetfs

    return datasetfs.PrefetchSampler(order, root, known_to(root, *files))


def work(pipe, paths, sizes):
    for batch in iter(pipe.recv, None):
        pipe.send((len(batch), sum(read_file(paths[index], sizes[index]) for index in batch)))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    pipe.send(usage.ru_utime + usage.ru_stime)


def read_all(batches, pipes, deadline):
    """Gives each process batches by turns, as a DataLoader does, and returns (files, bytes)."""
    due, count, size = [], 0, 0

    def give(pipe):
        batch = None if deadline and time.monotonic() > deadline else next(batches, None)
        if batch is not None:
            pipe.send(batch)
            due.append(pipe)

    for pipe in pipes * QUEUE:
        give(pipe)
    while due:
        pipe = due.pop(0)
        more, length = pipe.recv()
        count, size = count + more, size + length
        give(pipe)
    return count, size


def main():
    root, listed, seconds, seed, processes, way = sys.argv[1:]
    paths, sizes, numbers = files_of(root, listed)
    order, pipes = sampler_of(way, root, (paths, numbers), int(seed)), []
    for _ in range(int(processes)):
        ours, theirs = multiprocessing.Pipe()
        multiprocessing.get_context("fork").Process(target=work, args=(theirs, paths, sizes), daemon=True).start()
        pipes.append(ours)
    print("ready", flush=True)
    sys.stdin.readline()
    begun, usage = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    count, size = read_all(iter(order), pipes, begun + float(seconds) if float(seconds) else 0)
    took, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - usage.ru_utime - usage.ru_stime
    for pipe in pipes:
        pipe.send(None)
        cpu += pipe.recv()
    print(json.dumps({"count": count, "bytes": size, "seconds": took, "reader_cpu": cpu}), flush=True)


main()
