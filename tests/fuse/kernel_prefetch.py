# SPDX-License-Identifier: MIT
"""What kernel-prefetch.sh asks of a mount that the kernel serves: kernel_prefetch.py WHAT MOUNT ARGUMENT…"""
import array
import os
import random
import sys
import threading
import time
import warnings

sys.path.insert(0, os.path.join(os.environ["DATASETFS_SOURCE"], "contrib", "python"))
import datasetfs  # noqa: E402
from datasetfs import prefetch as module  # noqa: E402

sys.path.insert(0, os.path.join(os.environ["DATASETFS_SOURCE"], "tests", "lib"))
from cached import absent  # noqa: E402
from patience import Patience  # noqa: E402

SIZE = 8  # files of a batch


def check(what, found, expected):
    if found != expected:
        sys.exit(f"fail: {what}: found {found!r}, expected {expected!r}")


def wait_until(what, is_so):
    patience = Patience(60)
    while not is_so():
        if patience.is_over():
            sys.exit(f"fail: {what}")
        time.sleep(0.005)


class Folder:
    """As ImageFolder has it, in an order of its own."""

    def __init__(self, mount, least=0):
        seed = int(os.environ.get("SEED") or random.randrange(1 << 30))
        print(f"- seed {seed}")
        names = sorted(name for name in os.listdir(mount) if os.path.getsize(os.path.join(mount, name)) >= least)
        self.samples = [(os.path.join(mount, name), 0) for name in random.Random(seed).sample(names, len(names))]
        if len(names) < 10 * SIZE:
            sys.exit(f"fail: only {len(names)} files in '{mount}'")

    def batches(self):
        return [range(at, min(at + SIZE, len(self.samples))) for at in range(0, len(self.samples), SIZE)]

    def is_read(self, index):
        """Half of it is enough, as the kernel may take pages away."""
        path = self.samples[index][0]
        return absent(path) <= -(-os.path.getsize(path) // 4096) // 2


def drop(folder, first=0):
    """From sample `first` on; again while pages are still being read."""
    def is_dropped():
        for path, _ in folder.samples[first:]:
            with open(path, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return not any(map(folder.is_read, range(first, len(folder.samples))))

    wait_until("pages stay in the cache", is_dropped)


def ahead(mount, source):
    """The two batches after the one that was handed out are read, and none later; the order is the sampler's."""
    folder = Folder(mount)
    batches = folder.batches()
    drop(folder)
    items = iter(datasetfs.PrefetchSampler(batches, mount, folder, batches_ahead=2))
    order = []
    for number in range(len(batches)):
        order.append(next(items))
        first, end = (number + 1) * SIZE, min((number + 3) * SIZE, len(folder.samples))
        wait_until(f"files before {end} are not read", lambda: all(map(folder.is_read, range(first, end))))
        check("files that were read too early", [i for i in range(end, len(folder.samples)) if folder.is_read(i)], [])
        for index in order[-1]:
            path = folder.samples[index][0]
            with open(path, "rb") as file, open(os.path.join(source, os.path.basename(path)), "rb") as expected:
                check(path, file.read(), expected.read())
    check("order", order + list(items), batches)
    print("- an epoch")


def bounded(mount):
    """So many bytes, and one file more."""
    folder = Folder(mount, 50000)
    batches = folder.batches()
    drop(folder)
    module.KERNEL_BYTES = 300000
    items = iter(datasetfs.PrefetchSampler(batches, mount, folder, batches_ahead=6))
    sizes = [os.path.getsize(path) for path, _ in folder.samples]
    for number in range(len(batches) - 1):
        next(items)
        first = last = (number + 1) * SIZE
        while last < len(sizes) and sum(sizes[first:last]) < module.KERNEL_BYTES:
            last += 1
        wait_until(f"files before {last} are not read", lambda: all(map(folder.is_read, range(first, last))))
        check("files beyond what may be kept", [i for i in range(last, len(sizes)) if folder.is_read(i)], [])
    print("- a bound")


def left(mount):
    """No thread stays behind an epoch that ends, or is broken off; what cannot be opened is passed over."""
    folder = Folder(mount)
    folder.samples[3:3] = [("nowhere", 0), (mount, 0)]
    batches = folder.batches()
    sampler = datasetfs.PrefetchSampler(batches, mount, folder)
    for _ in range(3):
        check("order", list(sampler), batches)
    drop(folder, SIZE)
    items = iter(sampler)
    next(items)
    wait_until("nothing is read", lambda: all(map(folder.is_read, range(SIZE, 3 * SIZE))))
    del items
    wait_until("threads stay", lambda: threading.active_count() == 1)
    print("- the end")


def numbers(mount):
    """There is no daemon that would know them."""
    files = array.array("Q", range(160))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            check("order", list(datasetfs.PrefetchSampler(range(160), mount, files)), list(range(160)))
    check("warnings", [str(warning.message) for warning in caught], 2 * [
        "nothing is read ahead: a mount that the kernel serves needs paths: give a data set with 'samples', not numbers"
        " of files"])


globals()[sys.argv[1]](*sys.argv[2:])
