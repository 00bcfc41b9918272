# SPDX-License-Identifier: MIT
"""Four ranks on four mounts of one volume; a new version is published in the middle of an epoch.

usage: epochs.py VOLUME SOURCE_OF_NEXT_VERSION MOUNT...

Every rank reads its share of every epoch's shuffled samples and calls epoch_barrier() between epochs. Afterwards
the ranks compare notes: each epoch read one version on every rank, and every sample exactly once. Files of a
version begin with its name."""
import os
import random
import subprocess
import sys
import tempfile

import torch.distributed as dist
import torch.multiprocessing as multiprocessing

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
from datasetfs import Mount, epoch_barrier  # noqa: E402

EPOCHS = 4
PUBLISH_IN = 1


def read_epoch(mount, epoch, rank, ranks, in_the_middle):
    """The versions that were seen and the samples, in the order of this epoch's shuffle."""
    samples = sorted(os.listdir(os.path.join(mount.path, "samples")))
    random.Random(epoch).shuffle(samples)
    mine, seen = samples[rank::ranks], set()
    for number, name in enumerate(mine):
        if number == len(mine) // 2:
            in_the_middle(epoch)
        with open(os.path.join(mount.path, "samples", name), encoding="utf-8") as file:
            seen.add(file.read().split()[0])
    return seen, mine


def check(epoch, notes):
    versions = set().union(*(seen for seen, _ in notes))
    samples = [name for _, mine in notes for name in mine]
    if len(versions) != 1:
        sys.exit(f"epoch {epoch} read several versions: {sorted(versions)}")
    if len(samples) != len(set(samples)):
        sys.exit(f"epoch {epoch} read a sample twice")
    return versions.pop(), len(samples)


def run(rank, volume, source, mounts, meeting):
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=len(mounts))
    mount = Mount(mounts[rank])

    def in_the_middle(epoch):
        if rank == 0 and epoch == PUBLISH_IN:
            subprocess.run(["mkdatasetfs", "--progress", "none", volume, source], check=True, stdout=subprocess.DEVNULL)
        dist.barrier()

    for epoch in range(EPOCHS):
        notes = [None] * len(mounts)
        dist.all_gather_object(notes, read_epoch(mount, epoch, rank, len(mounts), in_the_middle))
        version, count = check(epoch, notes)
        label, failure = epoch_barrier(mount)
        if failure:
            sys.exit(f"no switch: {failure}")
        if rank == 0:
            print(f"epoch {epoch}: version {version} on every rank, {count} samples once each; next: {label}",
                  flush=True)
    dist.destroy_process_group()


def main():
    volume, source, mounts = sys.argv[1], sys.argv[2], sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(run, (volume, source, mounts, os.path.join(folder, "meeting")), nprocs=len(mounts))


if __name__ == "__main__":
    main()
