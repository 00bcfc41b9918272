# SPDX-License-Identifier: MIT
"""Eight processes, the ranks, switch one mount to each of the labels in turn.

usage: barrier.py VOLUME MOUNT LABEL..."""
import multiprocessing
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["DATASETFS_SOURCE"], "contrib", "python"))
from datasetfs import Mount, epoch_barrier  # noqa: E402

RANKS = 8
PATIENCE = 1000  # s; it is the test's own limit that ends ranks that hang


def run(rank, gate, values, volume, path, labels):
    def gather(value):
        values[rank] = value
        gate.wait(PATIENCE)
        found = list(values)
        gate.wait(PATIENCE)
        return found

    for label in labels:
        if rank == 0:
            subprocess.run(["datasetfsctl", "current", volume, label], check=True, stdout=subprocess.DEVNULL)
        gather(None)
        found = epoch_barrier(Mount(path), gather=gather)
        if found != (label, None):
            sys.exit(f"rank {rank}: found {found}, expected {(label, None)}")


def main():
    volume, path, labels = sys.argv[1], sys.argv[2], sys.argv[3:]
    with multiprocessing.Manager() as manager:
        shared = (multiprocessing.Barrier(RANKS), manager.list([None] * RANKS), volume, path, labels)
        ranks = [multiprocessing.Process(target=run, args=(rank, *shared)) for rank in range(RANKS)]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join()
        sys.exit(any(rank.exitcode for rank in ranks))


main()
