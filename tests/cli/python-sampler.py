#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once
"""The sampler without torch, without a volume and without blocks: a permutation for any length, every sample once
whatever the number of ranks, exact resuming with another one, refusal of other data; and ids without a list of them."""
import collections
import os
import random
import sys

PACKAGE = os.path.join(os.environ["DATASETFS_BUILD"], "root", "usr", "share", "datasetfs", "python")
sys.path.insert(0, PACKAGE)
from datasetfs import Sampler  # noqa: E402
from datasetfs.selection import Selection  # noqa: E402
from datasetfs.shuffle import Order  # noqa: E402


class Files:
    """A data set as far as a sampler looks at it."""

    def __init__(self, count, digest):
        self.count, self.digest = count, digest

    def __len__(self):
        return self.count


def check(what, found, expected):
    if found != expected:
        sys.exit(f"fail: {what}: found {str(found)[:300]}, expected {str(expected)[:300]}")


def check_permutation():
    for length in (0, 1, 2, 3, 4, 5, 10, 99, 100, 101, 1000, 65536, 65537):
        check(f"a permutation of {length}", sorted(Order("one", length).at(0, 1, length)), list(range(length)))
    # An order that changes makes every saved state wrong: then STATE must change as well.
    check("the same as ever", Order("0 0", 1000).at(0, 1, 5), [402, 383, 153, 530, 926])


def check_spread():
    """Over many keys every place is as likely to come first, and neighbours do not stay neighbours."""
    length, keys = 50, 5000
    for place in (0, 7, 49):
        firsts = collections.Counter(Order(str(key), length).at(place, 1, 1)[0] for key in range(keys))
        chi = sum((firsts[value] - keys / length) ** 2 / (keys / length) for value in range(length))
        if chi > 100:  # 49 degrees of freedom: beyond 100 once in 40,000
            sys.exit(f"fail: place {place}: chi-squared {chi:.0f}")
    order = Order("x", 100_000).at(0, 1, 10_001)
    steps = [after - before for before, after in zip(order, order[1:])]
    if sum(abs(step) < 1000 for step in steps) > 300:  # about 200 of a random order
        sys.exit("fail: neighbours stay together")


def order_of(length, world, **words):
    """What all ranks read, in the order of the epoch."""
    shares = [list(Sampler(length, rank=rank, world=world, **words)) for rank in range(world)]
    return [share[step] for step in range(len(shares[0])) for share in shares]


def check_ranks():
    alone = list(Sampler(1000, seed=3))
    check("every sample", sorted(alone), list(range(1000)))
    for world in (2, 3, 4, 7):
        found = order_of(1000, world, seed=3)
        check(f"the order of {world} ranks", found[:1000], alone)
        check(f"{world} ranks: filled from the beginning", found[1000:], alone[:len(found) - 1000])
        check(f"{world} ranks: the tail dropped", order_of(1000, world, seed=3, drop_last=True),
              alone[:1000 // world * world])
    check("other seeds", alone == list(Sampler(1000, seed=4)), False)
    check("not shuffled", list(Sampler(5, shuffle=False)), [0, 1, 2, 3, 4])
    check("more ranks than samples", [len(list(Sampler(2, rank=rank, world=5))) for rank in range(5)], [1] * 5)
    check("nothing", list(Sampler(0)), [])


def check_batches():
    sampler = Sampler(1003, batch_size=100)
    batches = list(sampler)
    check("batches", ([len(batch) for batch in batches], sorted(sum(batches, []))),
          ([100] * 10 + [3], list(range(1003))))
    check("the next epoch", (sampler.epoch, list(sampler) == batches), (1, False))
    check("len and drop_last", [(len(sampler), len(list(sampler))) for sampler in (
        Sampler(1003, batch_size=100), Sampler(1003, batch_size=100, drop_last=True),
        Sampler(1003, world=4, batch_size=100, drop_last=True), Sampler(1003, world=4, drop_last=True))],
        [(11, 11), (10, 10), (2, 2), (250, 250)])


def check_resume():
    """Four ranks have had 5 batches of 8, then 3 ranks go on: together one epoch, nothing twice, nothing left out."""
    data = Files(1000, "sha256:aa")
    alone, before, states = list(Sampler(data, seed=9)), [], []
    for rank in range(4):
        sampler = Sampler(data, seed=9, rank=rank, world=4, batch_size=8)
        ahead = iter(sampler)
        batches = [next(ahead) for _ in range(9)]  # a loader asked for four more than the loop has had
        before.append(sum(batches[:5], []))
        states.append(sampler.state_dict(batches=5))
    check("one state", [state == states[0] for state in states], [True] * 4)
    check("its size", len(states[0]), 6)
    after, ends = [], []
    for rank in range(3):
        sampler = Sampler(data, rank=rank, world=3, batch_size=8)
        sampler.load_state_dict(states[0])
        sampler.set_epoch(sampler.epoch)  # the loop counts its epochs: it goes on in this one
        check("what is left", len(sampler), -(-(-(-840 // 3)) // 8))
        after.append(sum(sampler, []))
        ends.append(sampler.state_dict(batches=1000))
    woven = [share[step] for shares in (before, after) for step in range(len(shares[0])) for share in shares]
    check("the whole epoch", woven[:1000], alone)
    check("the next epoch", {(end["epoch"], end["position"]) for end in ends}, {(1, 0)})
    sampler.set_epoch(7)
    check("another epoch", (sampler.epoch, sampler.position, len(list(sampler))), (7, 0, 42))


def check_refusals():
    state = Sampler(Files(10, "sha256:aa")).state_dict()
    for data in (Files(10, "sha256:bb"), Files(11, "sha256:aa"), 10):
        try:
            Sampler(data).load_state_dict(state)
        except ValueError as error:
            check("the reason", str(error).partition(", ")[0], "the state is of 10 samples of sha256:aa")
            continue
        sys.exit(f"fail: the state was taken for {data}")
    for words in ({"rank": 2, "world": 2}, {"batch_size": 0}):
        try:
            Sampler(10, **words)
        except ValueError:
            continue
        sys.exit(f"fail: {words} were accepted")


def check_refresh():
    """A data set that changes between two epochs is followed; within one it is not."""
    data = Files(100, "sha256:aa")
    sampler = Sampler(data)
    state = sampler.state_dict()
    check("the first epoch", sorted(sampler), list(range(100)))
    data.count, data.digest = 120, "sha256:bb"
    check("the second", (len(sampler), sorted(sampler), sampler.state_dict()["digest"]),
          (120, list(range(120)), "sha256:bb"))
    try:
        sampler.load_state_dict(state)
        sys.exit("fail: a state of the former version was taken")
    except ValueError:
        pass
    sampler.load_state_dict({**sampler.state_dict(), "position": 60})
    data.digest = "sha256:cc"
    try:
        sys.exit(f"fail: {len(list(sampler))} of another version in the middle of an epoch")
    except ValueError as error:
        check("the reason", str(error).partition(" in the")[0],
              "the data set was refreshed from sha256:bb to sha256:cc")


def check_selection():
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    print(f"- SEED={seed}")
    rng = random.Random(seed)
    selection, ids, first = Selection(), [], 0
    for _ in range(300):
        count, kind = rng.randrange(300), rng.randrange(3)
        bits = bytearray((count + 63) // 64 * 8)
        for number in range(count):
            if kind == 0 or kind == 1 and rng.random() < 0.5 or kind == 2 and number % 3:
                bits[number >> 3] |= 1 << (number & 7)
                ids.append(first + number)
        selection.add_bits(first, bits)
        first += count
    check("ids", [selection[place] for place in range(len(selection))], ids)
    held = set(ids)
    check("holds", [number for number in range(first) if selection.holds(number) != (number in held)], [])
    whole = Selection()
    for folder in range(1000):
        whole.add_bits(folder * 128, b"\xff" * 16)
    check("one run", (len(whole), len(whole.first)), (128_000, 1))


check_permutation()
check_spread()
check_ranks()
check_batches()
check_resume()
check_refusals()
check_refresh()
check_selection()
