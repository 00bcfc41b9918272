# SPDX-License-Identifier: MIT
"""Threads or processes of CPython that read files by their paths in a shuffled order, names known.

usage: pyread.py open|read|many WHERE LIST COUNT SECONDS (0: to the end) SEED threads|processes; the protocol is that of
reader.c. Processes are forked before the clock starts, when everything is loaded.
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


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def begin():
    print("ready", flush=True)
    sys.stdin.readline()
    return time.monotonic()


def in_threads(act, shares, seconds):
    """(begin, parts, seconds of CPU); a part is what act() gave of one share."""
    pool = concurrent.futures.ThreadPoolExecutor(len(shares))
    begun, before = begin(), cpu()
    deadline = begun + seconds if seconds else 0
    return begun, list(pool.map(lambda share: act(share, deadline), shares)), cpu() - before


def child(act, share, go, out):
    """The deadline comes by the first pipe, the result goes into the second."""
    deadline = json.loads(os.read(go, 100))
    before = cpu()
    part = act(share, deadline)
    os.write(out, json.dumps([part, cpu() - before]).encode() + b"\n")


def in_processes(act, shares, seconds):
    (result, out), goes, pids = os.pipe(), [], []
    for share in shares:
        go, give = os.pipe()
        goes.append(give)
        pids.append(os.fork())
        if not pids[-1]:
            child(act, share, go, out)
            sys.exit()
        os.close(go)
    os.close(out)
    begun = begin()
    for give in goes:
        os.write(give, json.dumps(begun + seconds if seconds else 0).encode())
    with open(result, encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    if any(os.waitpid(pid, 0)[1] for pid in pids) or len(found) < len(shares):
        sys.exit("a process failed")
    return begun, [part for part, _ in found], sum(used for _, used in found)


def main():
    mode, where, listed = sys.argv[1:4]
    count, seconds, seed = int(sys.argv[4]), float(sys.argv[5]), int(sys.argv[6])
    with open(listed, encoding="utf-8") as file:
        act, paths = prepared(mode, where, file.read().splitlines())
    random.Random(seed).shuffle(paths)
    run = in_processes if sys.argv[7] == "processes" else in_threads
    begun, parts, used = run(act, [paths[number::count] for number in range(count)], seconds)
    print(json.dumps({"count": sum(count for count, _ in parts), "bytes": sum(size for _, size in parts),
                      "seconds": time.monotonic() - begun, "reader_cpu": used}), flush=True)


main()
