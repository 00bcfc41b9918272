# SPDX-License-Identifier: MIT
"""Reads every file of a mount once, in a shuffled order with several threads, as a training job does, compares each
with its source, and drops it from the page cache.

    epoch.py MOUNT SOURCE SEED [THREADS]
"""
import os
import random
import sys
import threading

MOUNT, SOURCE, SEED = sys.argv[1:4]
THREADS = int(sys.argv[4]) if len(sys.argv) > 4 else 4
lock = threading.Lock()
failures = []


def paths():
    """Names of all files, relative to the source."""
    found = []
    for folder, _, files in os.walk(SOURCE):
        found += [os.path.relpath(os.path.join(folder, file), SOURCE) for file in files]
    return sorted(found)


def content(path):
    """All bytes of a file, with no trace in the page cache."""
    end = os.open(path, os.O_RDONLY)
    parts = []
    while part := os.read(end, 1 << 20):
        parts.append(part)
    os.posix_fadvise(end, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(end)
    return b"".join(parts)


def read(names):
    """Reads until there are no more names."""
    while True:
        with lock:
            if not names:
                return
            name = names.pop()
        try:
            if content(os.path.join(MOUNT, name)) != content(os.path.join(SOURCE, name)):
                failures.append(f"{name}: wrong bytes")
        except OSError as error:
            failures.append(f"{name}: {error}")


def main():
    names = paths()
    random.Random(SEED).shuffle(names)
    threads = [threading.Thread(target=read, args=(names,)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        sys.exit("fail: " + "; ".join(failures[:5]) + f" (seed {SEED}, {len(failures)} in all)")


main()
