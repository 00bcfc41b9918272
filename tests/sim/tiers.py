#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What src/read/cache_balance.c, src/cache/chunk_map.c and src/cache/slots.c make of caches on the drives of many
workers, in the simulation: hits, the epoch that fills, a drive and a volume that are limited or slow, 1,000 workers,
and wear. Beside each rule stands what comes out without the mechanism that it is about, which must break it."""
import os

from simulation import MEMBER, check, end, sim

SHORT = os.environ.get("DATASETFS_SANITIZER")
SLOT = 4 << 20
FILE = 8192
DAY = 50  # ms that count as one in rules of wear


def hits():
    """Half of the data: an epoch hits half of its reads, and an LRU less, whatever the order."""
    reads = {"workers": 4, "members": 2, "threads": 16, "files": 8192, "tier": 50, "from": 300, "to": 700}
    for kind in ("all", "shard", "fixed"):
        name = f"a cache of half the data, reads {kind}"
        # Of a fixed part, which is a quarter here, it has room for all.
        room = {"tier": 50} if kind != "fixed" else {"tier": 13}
        found = sim(**reads | room, reads=kind)
        check(f"{name}: hits", found["hits"], 0.49, 0.51 if kind != "fixed" else 0.53)
        # A buffer may be full when the last slot is: 4 workers, 4 buffers of 512 files each.
        check(f"{name}: files that were dropped", found["dropped"], 0, 4 * 4 * 512)
    found = sim(**reads)
    for number, epoch in enumerate(found["epochs"][:4]):
        check(f"a cache of half the data: hits of epoch {number + 1}", epoch["hits"], 0.49 if number else 0,
              0.51 if number else 0)
    check("a cache of half the data: bytes written, of its room", found["written_bytes"] / (4 * 8 * SLOT), 1, 1)
    check("a cache of half the data: places where something else was, a read", found["wrong"], 0, 20)
    lru = sim("tier-lru", **reads)
    check("without: an LRU of half the data: hits", lru["hits"], 0.14, 0.17)


def fills():
    """The epoch that fills: nobody waits for the drive, whatever it takes."""
    reads = {"workers": 8, "members": 2, "threads": 16, "files": 40960, "from": 100, "to": 800}
    without = sim(**reads)
    for name, writes in (("a drive that takes 1 GB/s", 1000), ("a drive that takes 20 MB/s", 20)):
        found = sim(tier=100, tier_bandwidth=3000, tier_writes=writes, **reads)
        check(f"{name}, the epoch that fills: files/s, of those without", found["files_per_s"] / without["files_per_s"],
              0.93, 1.07)
        check(f"{name}, the epoch that fills: p99, of that without", found["p99_us"] / without["p99_us"], 0, 1.2)
    check("a drive that takes 20 MB/s: files that were dropped", found["dropped"], 1000, 1e9)
    waits = sim("tier-waits", tier=100, tier_bandwidth=3000, tier_writes=20, **reads)
    check("without: readers wait for that drive: files/s, of those without a cache",
          waits["files_per_s"] / without["files_per_s"], 0, 0.5)
    # Reads of the drive beside its writes: each epoch is another shard, of which a part is there.
    shards = {"workers": 4, "members": 1, "threads": 16, "files": 16384, "reads": "shard", "from": 100, "to": 500}
    without = sim(**shards)
    found = sim(tier=100, tier_bandwidth=3000, tier_writes=2000, **shards)
    check("shards while they fill: hits", found["hits"], 0.1, 0.95)
    check("shards while they fill: files/s, of those without", found["files_per_s"] / without["files_per_s"], 0.93, 5)
    check("shards while they fill: p99, of that without", found["p99_us"] / without["p99_us"], 0, 1.2)


def again():
    """What a slow drive could not take comes in the next epochs."""
    found = sim(members=1, threads=16, files=8192, tier=100, tier_writes=300, **{"from": 10, "to": 600})["epochs"]
    for number in range(1, 4):
        check(f"a drive that takes a quarter of what is read: hits of epoch {number + 1}, more than before",
              found[number]["hits"] - found[number - 1]["hits"], 0.001, 1)


def limited():
    """A drive and a volume, each of which can do part of it, together do all."""
    reads = {"members": 1, "threads": 64, "cap": 2500, "files": 4096, "tier": 100, "from": 2000, "to": 8000}
    full = ("tier-full",)
    for name, volume, drive in (("2,500 reads/s each", 2500, 2500), ("10,000 and 2,500", 10000, 2500),
                                ("2,500 and 10,000", 2500, 10000)):
        found = sim(*full, **reads | {"cap": volume, "tier_cap": drive})
        check(f"a volume and a full cache of {name}: files/s, of both", found["files_per_s"] / (volume + drive),
              0.95, 1.02)
        alone = sim("tier-alone", *full, **reads | {"cap": volume, "tier_cap": drive})
        check("without: what the cache has is never read elsewhere: files/s, of both",
              alone["files_per_s"] / (volume + drive), 0, 0.9)


def slow():
    """A drive that is slower than the volume costs nothing, and does its part."""
    reads = {"workers": 4, "members": 1, "threads": 64, "cap": 20000, "files": 4096, "from": 4000, "to": 6000}
    drives = (("a disk: 4 reads of 10 ms at a time", {"tier_service": 10000, "tier_channels": 4}),
              ("2,500 reads/s", {"tier_cap": 2500}), ("100 reads/s", {"tier_cap": 100}))
    without = sim(**reads)
    for name, drive in drives:
        found = sim("tier-full", tier=100, **reads, **drive)
        check(f"a slow drive, {name}: files/s, of those without", found["files_per_s"] / without["files_per_s"],
              0.95, 2)
        check(f"a slow drive, {name}: hits", found["hits"], 1e-6, 1)
        alone = sim("tier-full", "tier-alone", tier=100, **reads, **drive)
        check(f"without: it is read alone, {name}: files/s, of those without",
              alone["files_per_s"] / without["files_per_s"], 0, 0.6)


def few():
    """Four readers, whose time a slow drive would take."""
    reads = {"members": 1, "threads": 4, "files": 4096, "from": 1000, "to": 2000}
    without = sim(**reads)
    found = sim("tier-full", tier=100, tier_service=10000, tier_channels=4, **reads)
    check("4 readers, a slow disk: files/s, of those without", found["files_per_s"] / without["files_per_s"],
          0.95, 1.05)


def a_file(found, options):
    """Reads of the volume for one file, over the time that is counted."""
    return sum(found["reads"]) / (found["files_per_s"] * (options["to"] - options["from"]) / 1000)


def many(workers):
    """Full caches of half the data leave the volume the misses alone; the pauses of loaders keep it from being busy."""
    reads = {"workers": workers, "members": 12, "threads": 8, "think": 5_000_000, "files": 256, "bytes": 32768,
             "from": 320, "to": 400}
    name = f"{workers} workers with full caches"
    half = sim("tier-full", tier=50, **reads)
    check(f"{name} of half: reads of the volume a file", a_file(half, reads), 0.49, 0.51)
    check(f"{name} of half: Jain's index", half["jain"], 0.97, 1)
    lru = sim("tier-full", "tier-lru", tier=50, **reads)
    check(f"without: {workers} LRUs of half: reads of the volume a file", a_file(lru, reads), 0.6, 0.9)
    full = sim("tier-full", tier=100, **reads)
    check(f"{name} of all: reads of the volume a file", a_file(full, reads), 0, 0.001)
    # Where the volume is the limit, it does twice as many files.
    busy = {**reads, "think": 0, "cap": 20000}
    without, found = sim(**busy), sim("tier-full", tier=50, **busy)
    check(f"{name} of half, a volume that is the limit: files/s, of those without",
          found["files_per_s"] / without["files_per_s"], 1.9, 2.1)
    # The queues of few readers are uneven: 800 have 1.24.
    check(f"{name} of half, a volume that is the limit: p99, of that without", found["p99_us"] / without["p99_us"],
          0, 1.2 if workers == 1000 else 1.3)
    windows = sim("windows", "tier-full", tier=50, **busy)
    check(f"{name} of half, windows: files/s, of those without windows",
          windows["files_per_s"] / found["files_per_s"], 0.95, 1.05)


def wear():
    """What is written: the room of a cache for each new data set, and of a version what is new."""
    reads = {"members": 1, "threads": 16, "files": 4096, "day": DAY, "changes": 7 * DAY, "from": 10}
    room = 4 * SLOT
    found = sim(tier=50, changed=100, **reads, to=6 * 7 * DAY)
    check("a new data set a week, 6 weeks: bytes written, of the room for each", found["written_bytes"] / 6 / room,
          0.95, 1.05)
    last = sim(tier=50, changed=100, **reads | {"from": (5 * 7 + 5) * DAY}, to=6 * 7 * DAY)
    check("a new data set a week: hits, five days later", last["hits"], 0.49, 0.51)
    lru = sim("tier-lru", tier=50, changed=100, **reads, to=6 * 7 * DAY)
    check("without: an LRU: bytes written, of the room for each", lru["written_bytes"] / 6 / room, 10, 1e9)
    # Data sets that stay for half a day: nothing is thrown away that was read in the last three days.
    daily = sim(tier=50, changed=100, **reads | {"changes": DAY // 2}, to=12 * DAY)
    check("a new data set each half day, 12 days: bytes written, of the room", daily["written_bytes"] / room, 1, 4)
    # Versions that have 1 % of their files new: the rest stays.
    slow = {"think": 2_500_000, "changes": 1000, "from": 1001}  # an epoch takes longer than files wait to be written
    once = sim("tier-full", tier=200, changed=1, **reads | slow, to=1950)
    check("1 % changed: hits of the epochs after it", once["hits"], 0.98, 1)
    check("1 % changed: bytes written, of all files", once["written_bytes"] / (4096 * FILE), 0.005, 0.02)


hits()
fills()
again()
limited()
slow()
few()
wear()
many(100 if SHORT else 1000)
end()
