# SPDX-License-Identifier: MIT
"""Reads random files of a mount until a line comes, and says how long the slow ones took.
usage: stall.py MOUNT LIST SEED"""
import json
import os
import random
import select
import sys
import time

SLOW = 0.0005  # seconds; faster ones are no stall


def main():
    mountpoint, paths = sys.argv[1], open(sys.argv[2], encoding="utf-8").read().splitlines()
    rng, reads, slow = random.Random(int(sys.argv[3])), 0, []
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        path = os.path.join(mountpoint, rng.choice(paths))
        start = time.monotonic()
        with open(path, "rb", buffering=0) as file:
            file.read()
        took = time.monotonic() - start
        reads += 1
        if took > SLOW:
            slow.append((start, took))
    json.dump({"reads": reads, "slow": slow}, sys.stdout)


main()
