# SPDX-License-Identifier: MIT
"""What reading files costs. usage: counters.py MOUNT DEVICE known|unknown|python|head NAME…

Prints a JSON object: FUSE requests that a reader waits for, by operation; device reads as the daemon and as the kernel
count them. A file is read whole in one read(2): by a name that the kernel knows from a listing, by one that it does
not, by open().read() of CPython, or there after a look at its first bytes, as PIL does."""
import json
import os
import sys

MOUNT, DEVICE, HOW = sys.argv[1:4]
NAMES = sys.argv[4:]
# The kernel sends these when it likes, and nobody waits.
UNHEARD = {"FORGET", "BATCH_FORGET", "INTERRUPT"}


def snapshot():
    with open(f"{MOUNT}/.datasetfs/stats.json", encoding="utf-8") as file:
        stats = json.load(file)
    with open(f"/sys/block/{DEVICE}/stat", encoding="utf-8") as file:
        return stats["requests"], stats["device_reads"], int(file.read().split()[0])


def requests(before, after):
    return {name: count - before.get(name, 0) for name, count in after.items() if name not in UNHEARD}


def read_plain(path):
    fd = os.open(path, os.O_RDONLY)
    os.read(fd, os.fstat(fd).st_size + 1)
    os.close(fd)


def read_python(path):
    with open(path, "rb") as file:
        file.read()


def read_head(path):
    with open(path, "rb") as file:
        file.read(16)
        file.seek(0)
        file.read()


READERS = {"known": read_plain, "unknown": read_plain, "python": read_python, "head": read_head}


def main():
    if HOW == "known":
        for folder in {os.path.dirname(name) for name in NAMES}:
            os.listdir(f"{MOUNT}/{folder}")
    snapshot()
    empty = snapshot()
    before = snapshot()
    for name in NAMES:
        READERS[HOW](f"{MOUNT}/{name}")
    after = snapshot()
    own, found = requests(empty[0], before[0]), requests(before[0], after[0])
    cost = {name: count - own.get(name, 0) for name, count in found.items() if count != own.get(name, 0)}
    print(json.dumps({"requests": " ".join(f"{name}={cost[name]}" for name in sorted(cost)),
                      "device_reads": after[1] - before[1], "device": after[2] - before[2]}))


main()
