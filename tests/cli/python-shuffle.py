#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once
"""Orders of blocks: what the library computes is what dsfs_shuffle(3) specifies; every sample once whatever ranks,
workers and interruptions there are; as random as a full shuffle where the data are; and a data set that reads ahead."""
import collections
import gc
import hashlib
import math
import os
import pickle
import random
import re
import subprocess
import sys
import threading
import warnings
from array import array

PACKAGE = os.path.join(os.environ["DATASETFS_BUILD"], "root", "usr", "share", "datasetfs", "python")
sys.path.insert(0, PACKAGE)
import datasetfs  # noqa: E402
from datasetfs import Sampler  # noqa: E402
from datasetfs.shuffle import Deal, Order  # noqa: E402


def check(what, found, expected):
    if found != expected:
        sys.exit(f"fail: {what}: found {str(found)[:400]}, expected {str(expected)[:400]}")


def refused(what, pattern, call, *arguments, **words):
    try:
        call(*arguments, **words)
    except ValueError as error:
        if not re.search(pattern, str(error)):
            sys.exit(f"fail: {what}: {error}")
        return
    sys.exit(f"fail: {what} was taken")


# --- the specification, word by word

def permutation(length, key):
    """The elements of a permutation, in its order."""
    wide = math.isqrt(max(length - 1, 0)) + 1
    high = -(-length // wide)
    numbers = array("I", hashlib.shake_128(f"{key} {length}".encode()).digest(24 * wide))
    found = []
    for place in range(length):
        while True:
            row, column = divmod(place, wide)
            for step in range(3):
                row = (row + numbers[2 * step * wide + column]) % high
                column = (column + numbers[(2 * step + 1) * wide + row]) % wide
            place = row * wide + column
            if place < length:
                break
        found.append(place)
    return found


def slices(left, deal):
    """(rank, worker, own samples as a range of positions, all samples) of each worker."""
    if deal.drop_last:
        share = left // deal.world // deal.batch_size * deal.batch_size
    else:
        share = -(-left // deal.world)
    for rank in range(deal.world):
        begin = rank * share
        sizes = [min(deal.batch_size, share - first) for first in range(0, share, deal.batch_size)]
        for worker in range(deal.workers):
            size = sum(sizes[worker::deal.workers])
            yield rank, worker, range(min(begin, left), min(begin + size, left)), size
            begin += size


def windows(own, buffer):
    count = -(-len(own) // buffer)
    for number in range(count):
        first = number * (len(own) // count) + min(number, len(own) % count)
        yield own[first:first + len(own) // count + (number < len(own) % count)]


def specified(key, count, block, buffer, deal):
    """What each worker reads of an epoch, in its order."""
    sequence = [sample for number in permutation(-(-count // block), key)
                for sample in range(count)[number * block:(number + 1) * block]]
    read = {}
    for rank, worker, own, size in slices(count, deal):
        samples = [sequence[window[element]] for window in windows(own, buffer)
                   for element in permutation(len(window), f"{key} mix 0 {window[0]}")]
        begin = own.start + len(own) if len(own) else own.start
        fill = [sequence[(begin + number) % count] for number in range(size - len(own))]
        read[rank, worker] = samples + fill
    return sequence, read


def check_specification():
    for count, block, buffer, deal in ((1000, 16, 128, Deal(1, 1, 32, False)), (1000, 1, 1, Deal(3, 2, 10, False)),
                                       (1003, 7, 50, Deal(2, 3, 16, True)), (77, 100, 20, Deal(4, 2, 8, False)),
                                       (2000, 128, 4096, Deal(2, 4, 64, False))):
        what = f"{count} samples in blocks of {block}, {deal}"
        order = Order("5 2", count, block, buffer)
        sequence, read = specified("5 2", count, block, buffer, deal)
        check(f"{what}: the sequence", order.at(0, 1, count), sequence)
        for (rank, worker), samples in read.items():
            numbers = range(worker, order.batches(deal), deal.workers)
            check(f"{what}: rank {rank}, worker {worker}",
                  [sample for number in numbers for sample in order.batch(deal, rank, number)], samples)
    # Orders that change make every saved state wrong: then STATE_BLOCKS must change as well.
    check("the same as ever", Order("0 0", 1000, 16, 128).batch(Deal(2, 2, 32, False), 1, 3)[:5],
          [203, 388, 501, 609, 199])


# --- exactly once

class Files:
    """A data set as far as a sampler looks at it."""

    def __init__(self, count, digest="sha256:aa", labels=None, mean=0):
        self.count, self.digest, self.labels, self.mean_size = count, digest, labels, mean
        self.classes = sorted(set(labels or ()))

    def __len__(self):
        return self.count

    def label(self, index):
        return self.labels and self.labels[index]


def read_some(data, world, workers, part, state, rng, **words):
    """What all ranks have had before the next interruption, and the state then: the same of each rank. part: of the
    batches."""
    had, states = [], []
    for rank in range(world):
        sampler = Sampler(data, rank=rank, world=world, workers=workers, shuffle="blocks", **words)
        if state:
            sampler.load_state_dict(state)
        batches = len(sampler)
        count = int(batches * part)
        loop = iter(sampler)
        received = [next(loop) for _ in range(min(count + rng.randrange(3), batches))][:count]  # it is ahead
        had += [index for batch in received for index in batch]
        states.append(sampler.state_dict(batches=count))
    check("one state", [found == states[0] for found in states], [True] * world)
    return had, pickle.loads(pickle.dumps(states[0]))


def repeats(left, world, drop_last):
    return 0 if drop_last else -(-left // world) * world - left


def check_once(seed):
    rng = random.Random(seed)
    count = rng.choice((1, 10, 999, 3000))
    data, left, state, seen = Files(count), count, None, collections.Counter()
    words = {"seed": seed, "batch_size": rng.choice((1, 8, 50)), "block": rng.choice((1, 16, 128)),
             "buffer": rng.choice((30, 256, 10_000))}
    for part in [rng.random() for _ in range(rng.randrange(4))] + [1]:
        world = rng.randint(1, 5)
        had, state = read_some(data, world, rng.randint(1, 4), part, state, rng, **words)
        seen.update(had)
        if part == 1 or state["epoch"]:
            break
        left = len(Order(f"{seed} 0", count, words["block"], words["buffer"],
                         [(Deal(*deal), batches) for *deal, batches in state["dealt"]]))
    check(f"seed {seed}: every sample", sorted(seen), list(range(count)))
    check(f"seed {seed}: repeated ones", sum(seen.values()) - count <= repeats(left, world, False) + 5 * part, True)
    check(f"seed {seed}: the next epoch", (state["epoch"], state["dealt"]), (1, []))


def check_never_twice():
    """With a number of samples that the ranks divide there is nothing to repeat, and every sample comes once."""
    for seed in range(20):
        rng, seen, state = random.Random(seed), [], None
        data, words = Files(2400), {"seed": seed, "batch_size": 10, "block": 32, "buffer": 200}
        for part, world in ((0.3, 4), (0.5, rng.choice((1, 2, 3, 4))), (1, 1)):
            had, state = read_some(data, world, rng.randint(1, 4), part, state, rng, **words)
            seen += had
        check(f"seed {seed}", sorted(seen), list(range(2400)))


def check_drop_last():
    """What makes no whole batch is left out at the end, and is there when the epoch is resumed before that."""
    data, rng = Files(1003), random.Random(1)
    words = {"seed": 2, "batch_size": 16, "block": 32, "buffer": 128, "drop_last": True}
    had, state = read_some(data, 2, 2, 1, None, rng, **words)
    check("whole batches", (len(had), len(set(had)), state["epoch"]), (992, 992, 1))
    had, state = read_some(data, 2, 2, 0.5, None, rng, **words)
    more, _ = read_some(data, 1, 1, 1, state, rng, **words | {"batch_size": 1})
    check("all of it", sorted(had + more), list(range(1003)))


def check_epochs():
    sampler = Sampler(1000, batch_size=64, shuffle="blocks", block=16, buffer=256)
    first, second = [sum(sampler, []) for _ in range(2)]
    check("both epochs", (sorted(first), sorted(second), sampler.epoch), (list(range(1000)), list(range(1000)), 2))
    check("another order", first == second, False)
    sampler.set_epoch(0)
    check("again", sum(sampler, []), first)
    check("an iteration that is left", (next(iter(sampler)), sum(sampler, []) == second), (second[:64], True))
    other = Sampler(1000, seed=1, batch_size=64, shuffle="blocks", block=16, buffer=256)
    check("another seed", sum(other, []) == first, False)


def check_blocks_stay():
    """A worker's window consists of whole blocks, but for its ends."""
    order, deal = Order("1 1", 100_000, 128, 8192), Deal(2, 3, 256, False)
    for worker in range(3):
        samples = sorted(order.window(deal, 1, worker, 0))
        runs = 1 + sum(after != before + 1 for before, after in zip(samples, samples[1:]))
        check("runs of a window", (len(samples) > 4096, runs <= len(samples) // 128 + 2), (True, True))


# --- how random it is

def check_mixing():
    """Batches of 256 of 10 classes: their counts are within the 99 % region of a multinomial as often as they should
    be, where files lie in random order."""
    rng, batches, outside = random.Random(7), 0, 0
    for seed in range(20):
        classes = [rng.randrange(10) for _ in range(20_000)]
        shares = collections.Counter(classes)
        for batch in Sampler(Files(20_000), seed=seed, batch_size=256, shuffle="blocks", workers=2, drop_last=True):
            found = collections.Counter(classes[index] for index in batch)
            chi = sum((found[kind] - 256 * share / 20_000) ** 2 / (256 * share / 20_000)
                      for kind, share in shares.items())
            batches, outside = batches + 1, outside + (chi > 21.67)  # the 99 % quantile of 9 degrees of freedom
    check("batches", batches, 20 * (20_000 // 256))
    check(f"outside: {outside} of {batches}", outside <= 0.01 * batches + 3 * math.sqrt(0.01 * batches), True)


def check_windows():
    """PrefetchSampler asks for them: all together have each sample once, and a batch's samples are in its own, but for
    those that are repeated so that every rank gets equally many."""
    windows, given, elsewhere = {}, 0, 0
    for rank in range(3):
        sampler = Sampler(5000, seed=3, rank=rank, world=3, batch_size=64, shuffle="blocks", block=16, buffer=256,
                          workers=2)
        for batch in sampler:
            names = sampler.windows_of(batch)
            windows.update({(rank, name): sampler.window(name) for name in names})
            own = {index for name in names[:-1] for index in windows[rank, name]}
            given += len(batch)
            elsewhere += sum(index not in own for index in batch)
    check("samples of windows", sorted(index for window in windows.values() for index in window), list(range(5000)))
    check("samples of batches that are in no window of theirs", elsewhere, given - 5000)


def warnings_of(data, **words):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        sampler = Sampler(data, batch_size=256, shuffle="blocks", block=128, **words)
        for _ in range(2):
            next(iter(sampler))
    return [str(warning.message) for warning in found]


def check_warning():
    def sorted_files(classes):
        return Files(100_000, labels=[index * classes // 100_000 for index in range(100_000)])

    said = warnings_of(sorted_files(20), buffer=4096)
    check("once", len(said), 1)
    words = ("a block of 128", "4096 files", "1.6 blocks a class", "--order random", "buffer=", "shuffle=True")
    check("what", [word for word in words if word not in said[0]], [])
    needed = int(re.search(r"buffer=(\d+)", said[0])[1])
    check("what it asks for is enough", warnings_of(sorted_files(20), buffer=needed), [])
    check("for three times the classes it is not", len(warnings_of(sorted_files(60), buffer=needed)), 1)
    check("but three ranks have three", warnings_of(sorted_files(60), buffer=needed, world=3), [])
    said = warnings_of(sorted_files(200), buffer=needed)
    check("no buffer is enough", [len(said), "buffer=" in said[0]], [1, False])
    mixed = random.Random(3).choices(range(100), k=100_000)
    check("mixed data", warnings_of(Files(100_000, labels=mixed), buffer=4096), [])
    check("one class", warnings_of(Files(100_000, labels=[0] * 100_000), buffer=4096), [])


# --- what is refused, what is chosen

def check_refusals():
    blocks = {"batch_size": 8, "shuffle": "blocks"}
    refused("no batches", "say batch_size", Sampler, 10, shuffle="blocks")
    refused("a word", "expected True, False or 'blocks'", Sampler, 10, shuffle="block")
    for name in ("block", "buffer", "workers"):
        refused(name, f"{name}=0, expected at least 1", Sampler, 10, **blocks, **{name: 0})
        refused(f"{name} alone", f"{name}=3 needs shuffle='blocks'", Sampler, 10, **{name: 3})
    state = Sampler(10, **blocks).state_dict()
    refused("a state of blocks", "format 2, expected 1", Sampler(10, batch_size=8).load_state_dict, state)
    refused("a state of samples", "format 1, expected 2", Sampler(10, **blocks).load_state_dict,
            Sampler(10).state_dict())
    refused("other data", "open the version that it was made with", Sampler(11, **blocks).load_state_dict, state)
    data = Files(100)
    sampler = Sampler(data, **blocks)
    loop = iter(sampler)
    next(loop)
    sampler.load_state_dict(sampler.state_dict(batches=1))
    data.digest = "sha256:bb"
    refused("a refresh", "in the middle of an epoch", len, sampler)
    sampler.set_epoch(1)
    check("the next epoch is of the new version", (len(sampler), sampler.state_dict()["digest"]), (13, "sha256:bb"))


def check_sizes():
    def sizes(data, **words):
        sampler = Sampler(data, batch_size=8, shuffle="blocks", **words)
        return sampler.block, sampler.buffer
    check("of a number", sizes(10), (128, 4096))
    check("by size", [sizes(Files(10, mean=mean)) for mean in (100, 8192, 110 << 10, 5 << 20)],
          [(1024, 32768), (256, 8192), (16, 512), (1, 32)])
    check("as said", sizes(Files(10, mean=8192), block=7, buffer=20), (7, 20))
    sampler = Sampler(10, batch_size=8, shuffle="blocks")
    sampler.load_state_dict(Sampler(10, batch_size=8, shuffle="blocks", block=3, buffer=6, seed=4).state_dict())
    check("as the state has it", (sampler.block, sampler.buffer, sampler.seed), (3, 6, 4))


# --- a data set

def content_of(number):
    return hashlib.sha512(b"%d" % number).digest() * (number % 40)


def make_volume():
    for number in range(4000):
        os.makedirs(f"tree/{number // 500:02}", exist_ok=True)
        with open(f"tree/{number // 500:02}/{number:04}", "wb") as file:
            file.write(content_of(number))
    subprocess.run(["mkdatasetfs", "--progress", "none", "volume", "tree"], check=True, stdout=subprocess.DEVNULL)


def check_reading():
    """Workers of two ranks, one after the other in this process, each with a data set of its own."""
    data, seen = datasetfs.DataSet("volume"), []
    words = {"batch_size": 64, "shuffle": "blocks", "block": 32, "buffer": 400, "workers": 2, "world": 2}
    for rank in range(2):
        batches = pickle.loads(pickle.dumps(list(Sampler(data, rank=rank, **words))))  # as they come to a worker
        for worker in range(2):
            own = pickle.loads(pickle.dumps(data))
            for batch in batches[worker::2]:
                check("contents", own[batch], [content_of(index) for index in batch])
                held = sum(len(window._files) for window in own._ahead._windows.values())
                check(f"files in memory: {held}", held <= 2 * 400, True)
                seen += batch
            check("after the last batch", [window._files for window in own._ahead._windows.values()], [{}])
    check("every file", sorted(seen), list(range(4000)))


def check_other_ways():
    """Right contents where a batch comes from elsewhere, twice, by a child, or after another one; and a warning."""
    data = datasetfs.DataSet("volume")
    batches = list(Sampler(data, batch_size=64, shuffle="blocks", block=32, buffer=400, workers=4))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for batch in (batches[0], batches[4], batches[0], [5, 7], batches[4], batches[8]):
            check("contents", data.__getitems__(batch), [content_of(index) for index in batch])
        check("in order, from the beginning, behind others", (said, len(data._ahead._windows)), ([], 2))
        for batch in (batches[9], batches[13], batches[8]):
            check("contents", data.__getitems__(batch), [content_of(index) for index in batch])
    check("once", [str(warning.message).partition(":")[0] for warning in said],
          ["batch 9 comes behind batch 8, and the sampler deals to 4 workers"])
    check("windows", data._ahead._windows, {})
    child = os.fork()
    if not child:
        os._exit(data.__getitems__(batches[16]) != [content_of(index) for index in batches[16]])
    check("a child", os.waitpid(child, 0)[1], 0)
    check("its parent", data.__getitems__(batches[16]), [content_of(index) for index in batches[16]])
    again = list(Sampler(data, seed=1, batch_size=64, shuffle="blocks"))
    check("another epoch", data.__getitems__(again[0]), [content_of(index) for index in again[0]])


def check_damage():
    """A file that cannot be read fails its own batch and no other."""
    place, data = 1234, datasetfs.DataSet("volume")
    with open("volume", "r+b") as file:
        at = file.read().index(content_of(place))
        file.seek(at + 100)
        file.write(b"damage")
    failed = []
    for batch in Sampler(data, batch_size=64, shuffle="blocks", block=32, buffer=400):
        try:
            check("contents", data[batch], [content_of(index) for index in batch])
        except OSError as error:
            failed.append((place in batch, error.filename))
    check("one batch", failed, [(True, data.path(place))])


def check_end():
    """A data set ends with its last user: it has no circle of references, and its thread ends with it."""
    gc.disable()
    data = datasetfs.DataSet("volume")
    loop = iter(Sampler(data, batch_size=64, shuffle="blocks", block=32, buffer=400))
    data[next(loop)]
    reader = data.reader
    del data, loop
    for thread in threading.enumerate():
        if thread.name.startswith("datasetfs-ahead"):
            thread.join()  # it reads what it has begun to read
    check("who knows the reader", sys.getrefcount(reader), 2)
    gc.enable()


warnings.simplefilter("ignore", RuntimeWarning)  # most data here are sorted, and buffers small
def check_random_order():
    """On a volume in random order, blocks are neighbours there and indices are those of the tree; of a part too."""
    subprocess.run(["mkdatasetfs", "--progress", "none", "--order", "random:7", "mixed", "tree"], check=True,
                   stdout=subprocess.DEVNULL)
    whole = datasetfs.DataSet("mixed")
    ids = whole.reader.placed(0, 4000)
    check("the whole", whole.in_place(range(4000)), [number - whole.id(0) for number in ids])
    part = datasetfs.DataSet("mixed", root="03")
    inside = [number for number in ids if part.id(0) <= number <= part.id(499)]
    check("a part", part.in_place([4, 5, 6, 499, 0]), [inside[place] - part.id(0) for place in (4, 5, 6, 499, 0)])
    some = datasetfs.DataSet("mixed", extensions=("7",))
    check("a part of folders", sorted(some.in_place(range(len(some)))), list(range(400)))
    folder = datasetfs.ImageFolder("mixed", loader=bytes, is_valid_file=lambda path: not path.endswith("3"))
    check("class folders", sorted(folder.in_place(range(len(folder)))), list(range(3600)))
    for data in (whole, part, folder):
        batches = list(Sampler(data, batch_size=64, shuffle="blocks", block=32, buffer=400))
        check("every file", sorted(index for batch in batches for index in batch), list(range(len(data))))
        contents = [element for batch in batches for element in data[batch]]
        paths = [data.path(index) for batch in batches for index in batch]
        check("contents", [element if data is not folder else element[0] for element in contents],
              [content_of(int(path[-4:])) for path in paths])
    words = {"batch_size": 64, "shuffle": "blocks"}
    state = Sampler(whole, **words).state_dict()
    Sampler(datasetfs.DataSet("mixed"), **words).load_state_dict(state)
    refused("another order of the same files", "the order random:[0-9a-f]{16} on the volume, here it is tree",
            Sampler(datasetfs.DataSet("volume"), **words).load_state_dict, state)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        next(iter(Sampler(whole, batch_size=64, shuffle="blocks", block=32, buffer=400)))


check_specification()
for one in range(20):
    check_once(one)
check_never_twice()
check_drop_last()
check_epochs()
check_blocks_stay()
check_mixing()
check_windows()
check_warning()
check_refusals()
check_sizes()
make_volume()
check_reading()
check_other_ways()
check_end()
check_random_order()
check_damage()
