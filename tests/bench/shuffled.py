# SPDX-License-Identifier: MIT
"""One reader of a shuffled epoch, names known, with or without telling the mount of the order.

usage: shuffled.py ROOT LIST SECONDS (0: to the end) SEED plain|prefetch; the protocol is that of reader.c.
"""
import json
import random
import resource
import sys
import time

from listed import files_of, known_to, read_file


def sampler_of(order, mount, files, way):
    if way == "plain":
        return order
    import datasetfs

    return datasetfs.PrefetchSampler(order, mount, known_to(mount, *files))


def read_all(order, paths, sizes, deadline):
    """(bytes, time of each file in µs)"""
    total, latencies = 0, []
    for index in order:
        begun = time.monotonic_ns()
        total += read_file(paths[index], sizes[index])
        ended = time.monotonic_ns()
        latencies.append((ended - begun) / 1e3)
        if deadline and ended > deadline:
            break
    return total, latencies


def main():
    root, listed, seconds, seed, way = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    paths, sizes, numbers = files_of(root, listed)
    order = list(range(len(paths)))
    random.Random(seed).shuffle(order)
    print("ready", flush=True)
    sys.stdin.readline()
    begun, usage = time.monotonic_ns(), resource.getrusage(resource.RUSAGE_SELF)
    deadline = begun + int(seconds * 1e9) if seconds else 0
    total, latencies = read_all(sampler_of(order, root, (paths, numbers), way), paths, sizes, deadline)
    took, after = (time.monotonic_ns() - begun) / 1e9, resource.getrusage(resource.RUSAGE_SELF)
    latencies.sort()
    print(json.dumps({
        "count": len(latencies), "bytes": total, "seconds": took,
        "reader_cpu": after.ru_utime + after.ru_stime - usage.ru_utime - usage.ru_stime,
        "latency_us": {name: latencies[int((len(latencies) - 1) * part)]
                       for name, part in (("p50", .5), ("p90", .9), ("p99", .99))}}), flush=True)


main()
