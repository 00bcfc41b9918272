# SPDX-License-Identifier: MIT
"""Reads files of a mount in random order, past the page cache, by many threads, and compares every byte. Meanwhile a
command is given, and the rate is measured before and after.

    members_stuck.py SOURCE MOUNT READERS SEED BEFORE SETTLE AFTER [COMMAND…]

After BEFORE seconds the command is run; SETTLE seconds later the rate of the next AFTER seconds is taken. Prints both
rates, in files per second, and for each the 99th percentile of the time that a file took, in ms.
"""
import mmap
import os
import random
import subprocess
import sys
import threading
import time

source, mount = sys.argv[1:3]
readers, seed = map(int, sys.argv[3:5])
before, settle, after = map(float, sys.argv[5:8])
command = sys.argv[8:]

files = []
for folder, _, names in os.walk(source):
    for name in names:
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            files.append((os.path.join(mount, os.path.relpath(path, source)), file.read()))
files.sort()
largest = max(len(content) for _, content in files)
counts = [0] * readers
ended = [[] for _ in range(readers)]  # when, and how long it took
failures = []
over = threading.Event()


def read(number):
    rng = random.Random(seed * 1000 + number)
    memory = mmap.mmap(-1, (largest + 4096) // 4096 * 4096)
    while not over.is_set() and not failures:
        path, content = rng.choice(files)
        begun = time.monotonic()
        try:
            file = os.open(path, os.O_RDONLY | os.O_DIRECT)
            try:
                length = 0
                while length < len(content):
                    part = os.preadv(file, [memoryview(memory)[length:]], length)
                    if not part:
                        break
                    length += part
            finally:
                os.close(file)
        except OSError as error:
            failures.append(f"{path}: {error}")
            return
        now = time.monotonic()
        ended[number].append((now, now - begun))
        if memory[:length] != content:
            failures.append(f"{path}: other bytes, {length} of {len(content)}")
            return
        counts[number] += 1


def rate(seconds):
    """Its rate, and the times between which it was taken."""
    start, done = time.monotonic(), sum(counts)
    over.wait(seconds)
    end = time.monotonic()
    return (sum(counts) - done) / (end - start), start, end


def percentile_99(start, end):
    """ms, of the files that were begun and ended then"""
    took = sorted(took for times in ended for when, took in times if start <= when - took and when < end)
    return 1000 * took[len(took) * 99 // 100] if took else 0


threads = [threading.Thread(target=read, args=(number,)) for number in range(readers)]
for thread in threads:
    thread.start()
first, *window = rate(before)
if command:
    subprocess.run(command, check=True)
over.wait(settle)
second, *later = rate(after)
over.set()
for thread in threads:
    thread.join()
if failures:
    sys.exit(f"fail: {failures[0]} and {len(failures) - 1} more")
print(f"{first:.0f} {second:.0f} {percentile_99(*window):.1f} {percentile_99(*later):.1f}")
