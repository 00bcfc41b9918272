# SPDX-License-Identifier: MIT
"""For collate.sh: batches of a volume as datasetfs.Contents in real DataLoaders, on a machine with a GPU as well."""
import os
import pickle
import sys
from multiprocessing.reduction import ForkingPickler

import torch
from torch.utils.data import DataLoader
from torch.utils.data._utils.pin_memory import pin_memory

import datasetfs
from checks import as_it_is, check, ok

BATCH = 64
HAS_GPU = torch.cuda.is_available()


def files_of(contents):
    """As bytes, where the batch itself, its elements and its offsets agree."""
    whole, offsets = bytes(contents.values.tolist()), contents.offsets.tolist()
    files = [whole[begin:end] for begin, end in zip(offsets, offsets[1:])]
    check("elements", [bytes(file.tolist()) for file in contents], files)
    check("by number", [bytes(contents[number].tolist()) for number in (0, -1)], [files[0], files[-1]])
    return files


def epochs(data, collate, count, persistent_workers=False, **words):
    """Batches of some epochs as lists of bytes."""
    sampler = datasetfs.Sampler(data, seed=3, batch_size=BATCH, shuffle="blocks", block=32, buffer=256)
    loader = DataLoader(data, batch_sampler=sampler, collate_fn=collate, pin_memory=HAS_GPU,
                        persistent_workers=persistent_workers, **words)
    for number in range(count):
        sampler.set_epoch(number)
        for batch in loader:
            check("pinned", collate is as_it_is or batch.values.is_pinned(), HAS_GPU or collate is as_it_is)
            yield batch if collate is as_it_is else files_of(batch)


def workers(volume):
    expected = list(epochs(datasetfs.DataSet(volume), as_it_is, 2, num_workers=2))
    check("files", len({file for batch in expected for file in batch}) > 400, True)
    data = datasetfs.DataSet(volume, transform=memoryview)
    for context, stay in (("fork", False), ("fork", True), ("spawn", True), ("forkserver", True)):
        found = list(epochs(data, datasetfs.collate_bytes, 2, stay, num_workers=2, multiprocessing_context=context))
        check(f"{context}, stay={stay}", found, expected)
        ok(f"{len(found)} batches by workers of {context} that {'stay' if stay else 'end with an epoch'}")
    alone = datasetfs.DataSet(volume, transform=memoryview)
    found = list(epochs(alone, datasetfs.collate_bytes, 1, num_workers=0))
    check("in this process", sorted(sum(found, [])), sorted(sum(expected[:len(found)], [])))


def classes(volume):
    """Contents beside what default_collate makes of labels."""
    data = datasetfs.ImageFolder(volume, loader=memoryview)
    loader = DataLoader(data, BATCH, num_workers=1, collate_fn=datasetfs.collate_bytes, pin_memory=HAS_GPU)
    at = 0
    for contents, labels in loader:
        files = [bytes(data[at + number][0]) for number in range(len(labels))]
        check("files", files_of(contents), files)
        check("labels", labels.tolist(), [data.label(at + number) for number in range(len(labels))])
        at += len(labels)
    check("all", at, len(data))
    ok(f"{at} samples with their labels")


def memory(volume):
    """A worker uses its memory again, but not while this process, or what was forked from it, looks at it; a loop that
    keeps every batch has them when the workers are gone."""
    data, small = datasetfs.DataSet(volume, transform=memoryview), 8
    expected = [data[place] for place in range(len(data))]
    expected = [list(map(bytes, expected[begin:begin + small])) for begin in range(0, len(expected), small)]
    loader = DataLoader(data, small, num_workers=1, collate_fn=datasetfs.collate_bytes)
    places = {contents.values.data_ptr() for contents in loader if len(contents.values)}
    check(f"{len(places)} places for {len(expected)} batches", len(places) < 10, True)
    check("every batch kept", [files_of(contents) for contents in list(loader)], expected)
    batches = iter(loader)
    first = next(batches)
    if not os.fork():
        del first
        os._exit(0)
    os.wait()
    rest = [files_of(contents) for contents in batches]
    check("a batch that a fork dropped", [files_of(first), *rest], expected)
    ok(f"{len(expected)} batches in {len(places)} places")
    return first


def pickled(contents):
    """In full, wherever it goes after it came from a worker."""
    files = files_of(contents)
    for found in (pickle.loads(pickle.dumps(contents)), ForkingPickler.loads(ForkingPickler.dumps(contents))):
        check("pickled", files_of(found), files)
    ok("pickled")


def moved():
    """As a DataLoader pins it, and to a device."""
    contents = datasetfs.collate_bytes([b"abc", memoryview(b""), bytearray(b"de")])
    if not HAS_GPU:
        torch.Tensor.pin_memory = torch.Tensor.clone
    for there in (pin_memory(contents), contents.to("cuda" if HAS_GPU else "cpu", non_blocking=True)):
        check("moved", (type(there), files_of(there)), (datasetfs.Contents, [b"abc", b"", b"de"]))
    check("empty files", files_of(datasetfs.collate_bytes([b"", b""])), [b"", b""])
    check("no bytes", datasetfs.collate_bytes([1, 2]).tolist(), [1, 2])
    ok("pinned and moved" if HAS_GPU else "moved")


def main():
    torch.set_num_threads(1)  # a process with threads of OpenMP cannot be forked
    if HAS_GPU:
        torch.zeros(1, device="cuda")
    workers(sys.argv[1])
    classes(sys.argv[1])
    pickled(memory(sys.argv[1]))
    moved()


if __name__ == "__main__":
    main()
