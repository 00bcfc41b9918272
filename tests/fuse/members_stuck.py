# SPDX-License-Identifier: MIT
"""Reads files of a mount in random order, past the page cache, by many threads, and compares every byte. Meanwhile a
command is given, and the rate is measured before and after.

    members_stuck.py SOURCE MOUNT READERS SEED BEFORE SETTLE AFTER [COMMAND…]

After BEFORE seconds the command is run; SETTLE seconds later the rate of the next AFTER seconds is taken. Prints both
rates, in files per second.
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
failures = []
over = threading.Event()


def read(number):
    rng = random.Random(seed * 1000 + number)
    memory = mmap.mmap(-1, (largest + 4096) // 4096 * 4096)
    while not over.is_set() and not failures:
        path, content = rng.choice(files)
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
        if memory[:length] != content:
            failures.append(f"{path}: other bytes, {length} of {len(content)}")
            return
        counts[number] += 1


def rate(seconds):
    start, done = time.monotonic(), sum(counts)
    over.wait(seconds)
    return (sum(counts) - done) / (time.monotonic() - start)


threads = [threading.Thread(target=read, args=(number,)) for number in range(readers)]
for thread in threads:
    thread.start()
first = rate(before)
if command:
    subprocess.run(command, check=True)
over.wait(settle)
second = rate(after)
over.set()
for thread in threads:
    thread.join()
if failures:
    sys.exit(f"fail: {failures[0]} and {len(failures) - 1} more")
print(f"{first:.0f} {second:.0f}")
