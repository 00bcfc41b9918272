# SPDX-License-Identifier: MIT
"""Tar shards as WebDataset has them: files in random order, each shard read from its beginning to its end by one
worker, which mixes what it reads in a buffer."""
import itertools
import os
import pathlib
import random
import tarfile

COUNT, LARGEST = 64, 100 << 20  # shards of a tree: so many, or more where one would be larger
ROOM, FIRST = 1000, 100         # files in a worker's buffer, and with how many it begins to give them out
BLOCK = 512                     # of tar


# --- made --------------------------------------------------------------------------------------------------


def write(source, paths, size, folder):
    """The files in random order, evenly over the shards."""
    paths, count = list(paths), max(COUNT, -(-size // LARGEST))
    random.Random("shards").shuffle(paths)
    for number in range(count):
        with tarfile.open(folder / f"{number:06d}.tar", "w", format=tarfile.USTAR_FORMAT) as shard:
            for path in paths[number::count]:
                shard.add(source / path, path)


# --- read --------------------------------------------------------------------------------------------------


def by_tarfile(path):
    """The contents of a shard's files, by Python's tarfile as WebDataset uses it: a stream that forgets its members."""
    with open(path, "rb") as file, tarfile.open(fileobj=file, mode="r|*") as shard:
        for member in shard:
            if member.isreg():
                yield shard.extractfile(member).read()
            shard.members = []


def by_blocks(path):
    """The same with reads of 1 MiB, and nothing looked at but sizes: about the least that Python can do with a tar."""
    with open(path, "rb", buffering=1 << 20) as file:
        while (size := file.read(BLOCK)[124:136].rstrip(b"\0 ")):
            size = int(size, 8)
            yield file.read(size)
            file.read(-size % BLOCK)


def mixed(contents, rng, room):
    """A random one of the buffer for each that comes; until it is full, two come for each that is given."""
    contents, held = iter(contents), []
    for content in contents:
        held.append(content)
        if len(held) < room:
            held.extend(itertools.islice(contents, 1))
        if len(held) >= FIRST:
            yield taken(held, rng)
    while held:
        yield taken(held, rng)


def taken(held, rng):
    place = rng.randrange(len(held))
    held[place], held[-1] = held[-1], held[place]
    return held.pop()


def epoch(where, seed, worker, workers, read, room=ROOM):
    """What one of the workers gives in an epoch: its share of the shards, which are in another order each time."""
    paths = sorted(os.fspath(path) for path in pathlib.Path(where).glob("*.tar"))
    random.Random(seed).shuffle(paths)
    contents = (content for path in paths[worker::workers] for content in read(path))
    return mixed(contents, random.Random(f"{seed} {worker}"), room)
