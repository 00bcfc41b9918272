# SPDX-License-Identifier: MIT
"""For datasets.sh: data sets of a mount in real DataLoaders."""
import hashlib
import os
import sys
import tempfile

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

import datasetfs
from checks import as_it_is, check, ok

BATCH = 16


def same_as_torchvision(mnt):
    import torchvision  # here, as spawned workers import this file

    to_tensor = torchvision.transforms.ToTensor()
    theirs = torchvision.datasets.ImageFolder(mnt, to_tensor)
    ours = datasetfs.ImageFolder(mnt, to_tensor)
    check("classes", (ours.classes, ours.class_to_idx), (theirs.classes, theirs.class_to_idx))
    check("samples", (list(ours.samples), list(ours.imgs), list(ours.targets)),
          (theirs.samples, theirs.imgs, theirs.targets))
    check("length", len(ours), len(theirs))
    for place, (image, label) in enumerate(theirs):
        mine = ours[place]
        check(f"image {place}", (torch.equal(mine[0], image), mine[1]), (True, label))
    ok("classes, samples and images are torchvision's")


def digest_of(view):
    return hashlib.sha256(view).hexdigest()


def check_epoch(what, loader, data, expected):
    found = [item for batch in loader for item in batch]
    check(what, found, expected)


def workers(mnt):
    """Elements of a whole epoch, in the order of the sampler, for each way to start workers."""
    data = datasetfs.DataSet(mnt, transform=digest_of, extensions=".png")
    contents = []
    for place in range(len(data)):
        with open(os.path.join(mnt, data.path(place)), "rb") as file:
            contents.append(digest_of(file.read()))
    for context in ("fork", "spawn", "forkserver"):
        sampler = datasetfs.Sampler(data, seed=5)
        expected = [[contents[place] for place in datasetfs.Sampler(data, seed=5)]]
        sampler.set_epoch(1)
        expected.append([contents[place] for place in sampler])
        sampler.set_epoch(0)
        loader = DataLoader(data, batch_size=BATCH, sampler=sampler, num_workers=2, collate_fn=as_it_is,
                            multiprocessing_context=context, persistent_workers=True)
        check_epoch(f"{context}, first epoch", loader, data, expected[0])
        check_epoch(f"{context}, second epoch", loader, data, expected[1])
        ok(f"{len(data)} files by workers of {context}")
    batches = DataLoader(data, batch_size=None, sampler=datasetfs.Sampler(data, seed=5, batch_size=BATCH),
                         num_workers=2, collate_fn=as_it_is)
    check_epoch("batches from the sampler", batches, data, expected[0])


# --- ranks

def read_some(mnt, rank, world, batches, state):
    """What this rank's loop has had, and its state after that; batches=None: to the end of the epoch."""
    data = datasetfs.DataSet(mnt, transform=digest_of)
    sampler = datasetfs.Sampler(data, seed=8, rank=rank, world=world, batch_size=BATCH)
    if state:
        sampler.load_state_dict(state)
    loader, had = DataLoader(data, batch_sampler=sampler, num_workers=2, collate_fn=as_it_is), []
    for number, batch in enumerate(loader, 1):
        had.append(batch)
        if number == batches:
            break
    return sum(had, []), sampler.state_dict(batches=len(had))


def rank_main(rank, mnt, world, batches, state, meeting):
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=world)
    notes = [None] * world
    dist.all_gather_object(notes, read_some(mnt, rank, world, batches, state))
    if rank == 0:
        torch.save(notes, meeting + ".notes")
    dist.destroy_process_group()


def run_ranks(mnt, world, batches, state):
    with tempfile.TemporaryDirectory() as folder:
        meeting = os.path.join(folder, "meeting")
        torch.multiprocessing.start_processes(rank_main, (mnt, world, batches, state, meeting), nprocs=world,
                                              start_method="fork")
        notes = torch.load(meeting + ".notes")
    shares, states = zip(*notes)
    check("one state", [found == states[0] for found in states], [True] * world)
    return [share[step] for step in range(len(shares[0])) for share in shares], states[0]


def ranks(mnt):
    """Four ranks read 2 batches each, three go on: the epoch of one."""
    data = datasetfs.DataSet(mnt, transform=digest_of)
    alone = [data[place] for place in datasetfs.Sampler(data, seed=8)]
    before, state = run_ranks(mnt, 4, 2, None)
    after, end = run_ranks(mnt, 3, None, state)
    check("half of the epoch", before, alone[:4 * 2 * BATCH])
    check("the whole epoch", (before + after)[:len(alone)], alone)
    check("the end", (end["epoch"], end["position"]), (1, 0))
    ok(f"{len(before)} samples by 4 ranks, the other {len(alone) - len(before)} by 3")
    return state


# --- blocks

def blocks(mnt):
    """Past the mount; through it nobody knows which files are neighbours."""
    words = {"batch_size": BATCH, "shuffle": "blocks"}
    data = datasetfs.ImageFolder(mnt, loader=digest_of)
    expected = sorted(data[place] for place in range(len(data)))
    loader = DataLoader(data, batch_sampler=datasetfs.Sampler(data, **words), num_workers=2, collate_fn=as_it_is)
    check("class folders", sorted(item for batch in loader for item in batch), expected)
    through = datasetfs.DataSet(mnt, way="mount")
    try:
        sys.exit(f"fail: {next(iter(datasetfs.Sampler(through, **words)))} through the mount")
    except ValueError as error:
        ok(f"{len(data)} files in blocks; through the mount: {str(error)[:60]}")


# --- a switch

def switch_under_it(mnt, state):
    data = datasetfs.DataSet(mnt, transform=digest_of)
    before = list(data)
    loader = iter(DataLoader(data, batch_size=BATCH, num_workers=2, collate_fn=as_it_is))
    first = next(loader)
    check("files of the first version", datasetfs.read(f"{mnt}/ant/001.png")[:4], b"\x89PNG")
    datasetfs.Mount(mnt).switch("two")
    check("the epoch goes on", first + [item for batch in loader for item in batch], before)
    check("so do others that begin in it", [item for batch in DataLoader(
        data, batch_size=BATCH, num_workers=1, collate_fn=as_it_is, multiprocessing_context="spawn")
        for item in batch], before)
    try:
        sys.exit(f"fail: {len(datasetfs.read(f'{mnt}/ant/001.png'))} bytes of a file of the former version")
    except FileNotFoundError as error:
        check("which file", error.filename, os.path.abspath(f"{mnt}/ant/001.png"))
    check("refresh", (data.refresh(), data.version, data.classes), (True, "two", ["bee", "cow"]))
    check("fewer", len(before) - len(data), 89)
    try:
        datasetfs.Sampler(data).load_state_dict(state)
    except ValueError as error:
        ok(f"a switch; and the sampler says: {str(error)[:60]}")
    else:
        sys.exit("fail: a state of another version was taken")


def main():
    mnt = sys.argv[1]
    torch.set_num_threads(1)  # a process with threads of OpenMP cannot be forked
    same_as_torchvision(mnt)
    workers(mnt)
    state = ranks(mnt)
    blocks(mnt)
    switch_under_it(mnt, state)
    info = datasetfs.Reader(mnt).info
    ok(f"read {'past the mount' if info.way == 'direct' else 'through the mount: ' + info.why}")


if __name__ == "__main__":
    main()
