# SPDX-License-Identifier: MIT
"""An epoch as plain CPython reads it: os.scandir of all folders, then open().read() of all files, shuffled.

usage: epoch.py ROOT THREADS SECONDS (0: to the end); the protocol is that of reader.c.
"""
import concurrent.futures
import json
import os
import random
import resource
import sys
import threading
import time


def scan(folder):
    """(files, folders) directly in it."""
    with os.scandir(folder) as entries:
        found = [(entry.is_dir(follow_symlinks=False), entry.path) for entry in entries]
    files = [path for is_folder, path in found if not is_folder]
    return files, [path for is_folder, path in found if is_folder]


def scan_all(pool, root):
    files, folders = scan(root)
    while folders:
        below = list(pool.map(scan, folders))
        files += [path for found, _ in below for path in found]
        folders = [path for _, found in below for path in found]
    return files


def read_all(files, deadline, lock, latencies):
    """One thread: takes files until none is left; (count, bytes)."""
    count = size = 0
    while True:
        with lock:
            if not files or (deadline and time.monotonic() > deadline):
                return count, size
            path = files.pop()
        begun = time.monotonic_ns()
        with open(path, "rb") as file:
            size += len(file.read())
        latencies.append((time.monotonic_ns() - begun) / 1e3)
        count += 1


def main():
    root, threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    pool = concurrent.futures.ThreadPoolExecutor(threads)
    print("ready", flush=True)
    sys.stdin.readline()
    lock, latencies = threading.Lock(), []
    begun, usage = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    files = scan_all(pool, root)
    scanned = time.monotonic() - begun
    files.sort()
    random.Random(1).shuffle(files)
    deadline = time.monotonic() + seconds if seconds else 0
    parts = list(pool.map(lambda _: read_all(files, deadline, lock, latencies), range(threads)))
    took, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_SELF)
    latencies.sort()
    print(json.dumps({
        "count": sum(count for count, _ in parts), "bytes": sum(size for _, size in parts), "seconds": took,
        "scan_seconds": scanned,
        "reader_cpu": after.ru_utime + after.ru_stime - usage.ru_utime - usage.ru_stime,
        "latency_us": {name: latencies[int((len(latencies) - 1) * part)]
                       for name, part in (("p50", .5), ("p90", .9), ("p99", .99))}}), flush=True)


main()
