#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once
"""PrefetchSampler without a mount and without torch: the layout is the header's; what it yields, in which order, and
what it tells a mount that has room, little room, none, or that refuses; its state is that of what was yielded."""
import array
import errno
import os
import pickle
import random
import subprocess
import sys
import warnings

SOURCE = os.environ["DATASETFS_SOURCE"]
sys.path.insert(0, os.path.join(SOURCE, "contrib", "python"))
from datasetfs import PrefetchSampler  # noqa: E402
from datasetfs import prefetch as module  # noqa: E402

DIGEST = "sha256:" + "5c" * 32
BASE = 7 << 40  # of the numbers


def check(what, found, expected):
    if found != expected:
        sys.exit(f"fail: {what}: found {found!r}, expected {expected!r}")


def check_layout():
    with open("layout.c", "w", encoding="utf-8") as file:
        file.write('#include <stdio.h>\n#include <stddef.h>\n#include "datasetfs/control.h"\n'
                   'int main(void) { printf("%zu %zu %zu %zu %zu %lu %u\\n", offsetof(struct dsfs_prefetch, digest),'
                   "offsetof(struct dsfs_prefetch, taken), offsetof(struct dsfs_prefetch, reason),"
                   "offsetof(struct dsfs_prefetch, files), sizeof(struct dsfs_prefetch),"
                   "(unsigned long)DSFS_IOC_PREFETCH, DSFS_PREFETCH_MOST); }\n")
    subprocess.run(["cc", "-I", os.path.join(SOURCE, "include"), "-o", "layout", "layout.c"], check=True)
    found = [int(word) for word in subprocess.run(["./layout"], check=True, capture_output=True).stdout.split()]
    check("layout", found, [8, 40, 56, module.HEAD.size, module.HEAD.size + 8 * module.DSFS_PREFETCH_MOST,
                            module.DSFS_IOC_PREFETCH, module.DSFS_PREFETCH_MOST])


class Control:
    """ioctl() of a mount that takes so many files a call, and then has room for so many more."""

    def __init__(self, room=1 << 30, credit=1 << 20, code=0):
        self.room, self.credit, self.code = room, credit, code
        self.calls, self.told, self.restarts = 0, [], 0
        module.fcntl.ioctl = self

    def __call__(self, _fd, number, command, _mutate):
        flags, count, digest = module.HEAD.unpack_from(command)[:3]
        check("number and flags", (number, flags), (module.DSFS_IOC_PREFETCH, 0))
        check("digest", digest, bytes.fromhex(DIGEST[7:]))
        self.calls += 1
        if self.code:
            module.HEAD.pack_into(command, 0, 0, count, digest, 0, 0, self.restarts, 0, b"it is so")
            raise OSError(self.code, os.strerror(self.code))
        taken = min(count, self.room)
        self.told += array.array("Q", bytes(command[module.HEAD.size:module.HEAD.size + 8 * taken]))
        module.HEAD.pack_into(command, 0, 0, count, digest, taken, self.credit, self.restarts, 0, b"")


class Shuffle:
    """A sampler with a state, as torchdata's have one."""

    def __init__(self, count):
        self.order = random.Random(4).sample(range(count), count)
        self.at = 0

    def __len__(self):
        return len(self.order)

    def __iter__(self):
        for index in self.order[self.at:]:
            self.at += 1
            yield index
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Batches:
    """A batch sampler without one, whose last batch is short."""

    def __init__(self, sampler, size):
        self.sampler, self.size = sampler, size

    def __iter__(self):
        batch = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.size:
                yield batch
                batch = []
        if batch:
            yield batch


def numbers(indices):
    return [BASE + index for index in indices]


FILES = array.array("Q", range(BASE, BASE + 10000))


def check_order():
    for inner in (Shuffle(10000), Batches(Shuffle(10000), 300), Batches(Shuffle(10000), 3000), Shuffle(1), Shuffle(0)):
        expected = list(inner)
        control = Control()
        check("order", list(PrefetchSampler(inner, "mount", FILES)), expected)
        flat = [index for item in expected for index in (item if isinstance(item, list) else [item])]
        check("told", control.told, numbers(flat))
    check("length", len(PrefetchSampler(Shuffle(17), "mount", FILES)), 17)


def check_distance():
    control = Control()
    items = iter(PrefetchSampler(Batches(range(1000), 10), "mount", FILES, batches_ahead=3))
    next(items)
    check("told when the first batch comes", control.told, numbers(range(40)))
    next(items)
    check("told when the second comes", control.told, numbers(range(50)))
    control = Control()
    items = iter(PrefetchSampler(range(1000), "mount", FILES, batches_ahead=3, batch_size=10))
    next(items)
    check("told when the first index comes", control.told, numbers(range(30)))


def check_other_server():
    """What was told and not handed out yet is told again, and nothing else."""
    control = Control()
    items = iter(PrefetchSampler(Batches(range(1000), 10), "mount", FILES, batches_ahead=3))
    for _ in range(5):
        next(items)
    check("told before", control.told, numbers(range(80)))
    control.restarts, control.told = 1, []
    next(items)
    check("told again", control.told, numbers(range(80, 90)) + numbers(range(50, 90)))
    control.told = []
    check("the rest", len(list(items)), 94)
    check("told later", control.told, numbers(range(90, 1000)))


class Blocks:
    """A batch sampler that mixes blocks of 10 in windows of 40, for each of some streams by turns."""

    mixes_blocks = True

    def __init__(self, streams, windows, size):
        rng = random.Random(9)
        self.length, self.size = streams * windows * 40, size
        blocks = rng.sample(range(streams * windows * 4), streams * windows * 4)
        self.windows = {(stream, number): [10 * block + i for block in blocks[4 * (stream * windows + number):][:4]
                                           for i in range(10)]
                        for stream in range(streams) for number in range(windows)}
        self.batches = []  # (indices, windows)
        for number in range(windows):
            mixed = [rng.sample(self.windows[stream, number], 40) for stream in range(streams)]
            for at in range(0, 40, size):
                self.batches += [(mixed[stream][at:at + size], [(stream, number), (stream, number + 1)])
                                 for stream in range(streams)]

    def __iter__(self):
        return (indices for indices, _ in self.batches)

    def windows_of(self, item):
        return [name for indices, names in self.batches if indices is item for name in names if name in self.windows]

    def window(self, name):
        return self.windows[name]


def check_blocks():
    """Whole windows are told, block by block, one before it is needed; after a restart those that are needed still."""
    def windows(*them):
        return numbers(index for number in them for index in inner.windows[0, number])

    inner, control = Blocks(1, 6, 20), Control()
    items = iter(PrefetchSampler(inner, "mount", FILES, batches_ahead=1))
    order = [next(items)]
    check("told when the first batch comes", control.told, windows(0, 1))
    order += [next(items) for _ in range(3)]
    check("told when the last of the second window comes", control.told, windows(0, 1, 2, 3))
    control.restarts, control.told = 1, []
    order.append(next(items))
    check("told again", control.told, windows(1, 2, 3))
    check("order", order + list(items), list(inner))
    check("told later", control.told, windows(1, 2, 3, 4, 5))
    inner, control = Blocks(2, 5, 8), Control()
    check("order", list(PrefetchSampler(inner, "mount", FILES)), list(inner))
    check("told, each once", sorted(control.told), numbers(range(inner.length)))
    inner, control = Blocks(1, 5, 8), Control(room=13, credit=0)
    check("order", list(PrefetchSampler(inner, "mount", FILES)), list(inner))
    check("calls", control.calls, 25)


def check_little_room():
    """What it could not tell in time it never tells; it asks once a batch, and never waits."""
    control = Control(room=1, credit=0)
    expected = list(Batches(range(1000), 10))
    check("order", list(PrefetchSampler(Batches(range(1000), 10), "mount", FILES)), expected)
    check("calls", control.calls, 100)
    late = [number for call, number in enumerate(control.told) if number < BASE + 10 * (call - 4)]
    check("told too late", late, [])
    control = Control(room=0, credit=0)
    check("order", list(PrefetchSampler(range(1000), "mount", FILES, batch_size=10)), list(range(1000)))
    check("calls of a mount without room", control.calls, 100)


def check_refusal():
    for code in (errno.ESTALE, errno.EOPNOTSUPP, errno.EPERM, errno.ENOTTY):
        control = Control(code=code)
        sampler = PrefetchSampler(Batches(range(1000), 10), "mount", FILES)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                check("order", list(sampler), list(Batches(range(1000), 10)))
        check("calls", control.calls, 2)  # one an epoch
        check("warnings", len(caught), 1)
        if "it is so" not in str(caught[0].message):
            sys.exit(f"fail: the warning is {caught[0].message}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check("order without a mount", list(PrefetchSampler(range(20), "nowhere", FILES)), list(range(20)))
    check("warnings without a mount", len(caught), 1)


def check_state():
    Control()
    sampler = PrefetchSampler(Shuffle(1000), "mount", FILES, batch_size=10)
    whole = list(sampler)
    items = iter(sampler)
    first = [next(items) for _ in range(123)]
    state = sampler.state_dict()
    check("state", state, {"at": 123})
    other = PrefetchSampler(Shuffle(1000), "mount", FILES, batch_size=10)
    other.load_state_dict(state)
    check("the rest of an epoch", first + list(other), whole)
    check("a state that the sampler does not have", hasattr(PrefetchSampler(range(3), "mount", FILES), "state_dict"),
          False)
    check("a copy", list(pickle.loads(pickle.dumps(sampler))), whole[123 + 40:])  # where the inner sampler stands


class Folder:
    """As ImageFolder; a Subset is made of it."""

    def __init__(self, paths):
        self.samples = [(path, 0) for path in paths]


class Subset:
    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices


def check_paths():
    paths = [f"mount/f{i}" for i in range(50)]
    for path in paths[:-1]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(path)
    inodes = [os.stat(path).st_ino for path in paths[:-1]]
    control = Control()
    check("order", list(PrefetchSampler(range(50), "mount", Folder(paths))), list(range(50)))
    check("told", control.told, inodes + [0])
    control = Control()
    list(PrefetchSampler([2, 0], "mount", Subset(Subset(Folder(paths), [9, 8, 7]), [2, 1, 0])))
    check("told of a subset", control.told, [inodes[9], inodes[7]])
    control = Control()
    list(PrefetchSampler(range(1), "mount", Folder(["/proc/self/status"])))
    check("told of another file system", control.told, [0])


os.makedirs("mount/.datasetfs")
with open("mount/.datasetfs/version", "w", encoding="utf-8") as version:
    version.write(f'{{"digest": "{DIGEST}"}}')
with open("mount/.datasetfs/control", "w", encoding="utf-8"):
    pass
check_layout()
check_order()
check_distance()
check_little_room()
check_other_server()
check_blocks()
check_refusal()
check_state()
check_paths()
