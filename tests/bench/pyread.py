# SPDX-License-Identifier: MIT
"""Threads of CPython that read files by their paths in a shuffled order, names known.

usage: pyread.py open|read|many WHERE LIST THREADS SECONDS (0: to the end) SEED; the protocol is that of reader.c.
open: open().read() of a mount; read: datasetfs's read() of each; many: read_many() of 64. Paths are those of files on
the mount; where WHERE is a volume they are relative to its root.
"""
import concurrent.futures
import json
import os
import random
import resource
import sys
import time

BATCH = 64


def read_opened(paths, deadline):
    """(files, bytes); so are those that follow."""
    size = 0
    for count, path in enumerate(paths, 1):
        with open(path, "rb") as file:
            size += len(file.read())
        if deadline and time.monotonic() > deadline:
            return count, size
    return len(paths), size


def read_single(read, paths, deadline):
    size = 0
    for count, path in enumerate(paths, 1):
        size += len(read(path))
        if deadline and time.monotonic() > deadline:
            return count, size
    return len(paths), size


def read_batches(read_many, paths, deadline):
    size = 0
    for begin in range(0, len(paths), BATCH):
        batch = paths[begin:begin + BATCH]
        size += sum(map(len, read_many(batch)))
        if deadline and time.monotonic() > deadline:
            return begin + len(batch), size
    return len(paths), size


def prepared(mode, where, paths):
    """(what a thread calls with its paths and the deadline, the paths as it wants them)"""
    is_mount = os.path.isdir(where)
    if is_mount:
        paths = [os.path.join(where, path) for path in paths]
    if mode == "open":
        for path in paths:
            os.stat(path)
        return read_opened, paths
    import datasetfs

    calls = reader = datasetfs.Reader(where, way="direct")
    if is_mount:
        reader.close()  # it could be read past the mount
        calls = datasetfs
    if mode == "read":
        return lambda some, deadline: read_single(calls.read, some, deadline), paths
    return lambda some, deadline: read_batches(calls.read_many, some, deadline), paths


def main():
    mode, where, listed = sys.argv[1:4]
    threads, seconds, seed = int(sys.argv[4]), float(sys.argv[5]), int(sys.argv[6])
    with open(listed, encoding="utf-8") as file:
        act, paths = prepared(mode, where, file.read().splitlines())
    random.Random(seed).shuffle(paths)
    pool = concurrent.futures.ThreadPoolExecutor(threads)
    print("ready", flush=True)
    sys.stdin.readline()
    begun, usage = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    deadline = begun + seconds if seconds else 0
    parts = list(pool.map(lambda number: act(paths[number::threads], deadline), range(threads)))
    took, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"count": sum(count for count, _ in parts), "bytes": sum(size for _, size in parts),
                      "seconds": took,
                      "reader_cpu": after.ru_utime + after.ru_stime - usage.ru_utime - usage.ru_stime}), flush=True)


main()
