# SPDX-License-Identifier: MIT
"""Readers under full load while versions alternate. usage: switch.py SOURCE0 SOURCE1 MOUNT SWITCHES PROCESS [READERS]

PROCESS serves the mount, or is the word 'kernel'.
SOURCE0 is version v0, SOURCE1 is v1, the mount serves v0. Two counters in shared memory say how many switches have
begun and how many have returned: an open between two equal values must see exactly that version."""
import ctypes
import json
import mmap
import multiprocessing
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["DATASETFS_SOURCE"], "contrib", "python"))
import datasetfs  # noqa: E402

SOURCES = sys.argv[1:3]
MOUNT, SWITCHES, PROCESS = sys.argv[3], int(sys.argv[4]), sys.argv[5]
READERS = int(sys.argv[6]) if len(sys.argv) > 6 else 4


def tree(source):
    files = {}
    for where, _, names in os.walk(source):
        for name in names:
            path = os.path.join(where, name)
            files[os.path.relpath(path, source)] = open(path, "rb").read()
    return files


class Counters:
    """One process writes. Each is stored at once: struct.pack_into() would write zeros first,
    which readers would see."""

    def __init__(self):
        self.values = (ctypes.c_uint64 * 3).from_buffer(mmap.mmap(-1, 4096))

    def get(self, number):
        return self.values[number]

    def add(self, number):
        self.values[number] += 1


BEGUN, RETURNED, END = range(3)


def allowed(before, after):
    return {0, 1} if after > before else {before % 2}


def check_file(files, counters, path, faults):
    before = counters.get(RETURNED)
    try:
        with open(os.path.join(MOUNT, path), "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            data = file.readall()
    except FileNotFoundError:
        data, size = None, 0
    versions = allowed(before, counters.get(BEGUN))
    if not any(files[v].get(path) == data for v in versions):
        seen = [v for v in (0, 1) if files[v].get(path) == data]
        faults.append(f"{path}: version {seen or 'of neither'}, expected {versions} size={size}")
    if data is not None and size != len(data):
        faults.append(f"{path}: {len(data)} bytes, fstat says {size}")


def check_stat(files, counters, path, faults):
    before = counters.get(RETURNED)
    try:
        size = os.stat(os.path.join(MOUNT, path)).st_size
    except FileNotFoundError:
        size = None
    versions = allowed(before, counters.get(BEGUN))
    if size not in {len(files[v][path]) if path in files[v] else None for v in versions}:
        faults.append(f"{path}: stat says {size}, expected version {versions}")


def names_of(files, folder):
    """None: this version has no such folder."""
    prefix = folder and folder + "/"
    return {path[len(prefix):].split("/")[0] for path in files if path.startswith(prefix)} or None


def check_list(files, counters, folder, faults):
    before = counters.get(RETURNED)
    try:
        names = set(os.listdir(os.path.join(MOUNT, folder)))
    except FileNotFoundError:
        names = None
    versions = allowed(before, counters.get(BEGUN))
    # The root is one node in all versions: during a switch its listing may begin in one and end in the other.
    if not any(names == names_of(files[v], folder) for v in versions) and (folder or len(versions) == 1):
        faults.append(f"listing of '{folder}', expected version {versions}: {names and sorted(names)[-3:]}")


def check_held(files, path, faults, rng):
    """A file stays what it was when it was opened, whether it is read or mapped."""
    try:
        file = open(os.path.join(MOUNT, path), "rb", buffering=0)
    except FileNotFoundError:
        return
    with file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        head = os.pread(file.fileno(), 10, 0)
        time.sleep(rng.random() / 20)
        data = mapped[:] if rng.random() < 0.5 else file.readall()
    if not any(files[v].get(path) == data and data.startswith(head) for v in (0, 1)):
        faults.append(f"{path}: held open, and of no version")


def reader(seed, files, counters, queue):
    rng, faults, count = random.Random(seed), [], 0
    paths = sorted(set(files[0]) | set(files[1]))
    folders = sorted({os.path.dirname(path) for path in paths} | {"b"})
    while not counters.get(END) and len(faults) < 5:
        check_file(files, counters, rng.choice(paths), faults)
        check_stat(files, counters, rng.choice(paths), faults)
        if count % 10 == 0:
            check_list(files, counters, rng.choice(folders), faults)
        if count % 100 == seed:
            check_held(files, rng.choice(paths), faults, rng)
        count += 1
    queue.put((faults, count))


def mappings():
    """(start, end, KiB in memory) of each."""
    if PROCESS == "kernel":
        return
    with open(f"/proc/{PROCESS}/smaps") as smaps:
        for line in smaps:
            if line.startswith("Rss:"):
                yield start, end, int(line.split()[1])
            elif line.split()[0].count("-") == 1 and not line.split()[0].endswith(":"):
                start, end = (int(number, 16) for number in line.split()[0].split("-"))


# Reserved when the daemon starts, and in memory once so many requests were in work at the same time.
BUFFERS = [(start, end) for start, end, _ in mappings() if end - start >= 8 << 20]


def memory():
    """KiB without the buffers."""
    return sum(kib for start, end, kib in mappings() if not any(start < high and low < end for low, high in BUFFERS))


def switcher():
    """Switches to label if the mount serves if_current; returns how long readers may have noticed, in seconds."""
    def by_daemon(label, if_current):
        began = time.monotonic()
        mount.switch(label, if_current=if_current)
        return time.monotonic() - began

    def by_kernel(label, if_current):
        command = ["nice", "-n", "-19", "datasetfsctl", "switch", "--json", MOUNT, label, "--if-current", if_current]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["switch_us"] / 1e6

    mount = PROCESS != "kernel" and datasetfs.Mount(MOUNT)
    return by_daemon if mount else by_kernel


def switch_all(counters, queue):
    switch, times, settled = switcher(), [], 0
    for number in range(1, SWITCHES + 1):
        counters.add(BEGUN)
        times.append(switch(f"v{number % 2}", f"v{(number + 1) % 2}"))
        counters.add(RETURNED)
        if number == SWITCHES // 4:
            settled = memory()
        if not queue.empty():
            break
        time.sleep(0.002)
    return sorted(times), settled


def main():
    files, counters, queue = [tree(source) for source in SOURCES], Counters(), multiprocessing.Queue()
    readers = [multiprocessing.Process(target=reader, args=(seed, files, counters, queue)) for seed in range(READERS)]
    for process in readers:
        process.start()
    times, settled = switch_all(counters, queue)
    counters.add(END)
    results = [queue.get(timeout=600) for _ in readers]
    for process in readers:
        process.join(600)
    faults = [fault for each, _ in results for fault in each]
    done, reads = counters.get(RETURNED), sum(count for _, count in results)
    print(f"{done} switches, {reads} reads, half of the switches within {times[len(times) // 2] * 1e3:.1f} ms, "
          f"99 % within {times[len(times) * 99 // 100] * 1e3:.1f} ms, all within {times[-1] * 1e3:.1f} ms, "
          f"memory {settled} KiB after a quarter, {memory()} KiB at the end")
    if faults:
        sys.exit("fail: " + "; ".join(faults[:5]))
    if done != SWITCHES or reads < SWITCHES // 4:
        sys.exit("fail: not what was planned")
    if "DATASETFS_SANITIZER" not in os.environ and memory() > settled + 8192:
        sys.exit("fail: memory grows")


main()
