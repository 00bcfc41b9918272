# SPDX-License-Identifier: MIT
"""Readers that compare and a lister that counts, until a file says that the mount is about to go.
usage: stress.py SOURCE MOUNT SEED STOPPING

Each read asks the daemon anew: its pages are dropped afterwards. Errors are allowed when STOPPING exists; wrong bytes
and names never are. A reader that is in the kernel for good is found by who waits for this program."""
import errno
import multiprocessing
import os
import random
import sys

SOURCE, MOUNT, SEED, STOPPING = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
READERS = 6
GONE = {errno.ENOTCONN, errno.ECONNABORTED, errno.ENODEV, errno.ENOENT, errno.EIO, errno.EINTR}


def names(top):
    return {os.path.relpath(os.path.join(where, name), top)
            for where, _, files in os.walk(top, onerror=fail) for name in files}


def fail(error):
    raise error


def read_some(rng, paths, contents):
    path = rng.choice(paths)
    want = contents[path]
    fd = os.open(f"{MOUNT}/{path}", os.O_RDONLY)
    try:
        if rng.random() < 0.5:
            at, found = 0, os.read(fd, len(want) + 1)
        else:
            at = rng.randrange(len(want))
            found = os.pread(fd, rng.randrange(1, 1 << 17), at)
        if found != want[at:at + len(found)] or (not found and want):
            sys.exit(f"fail: '{path}' differs behind {at}")
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


def list_all(paths):
    found = names(MOUNT)
    # Names of an aborted mount that the kernel caches can be listed for ever; an unmounted one is an empty folder.
    if os.path.exists(STOPPING):
        raise FileNotFoundError(errno.ENOENT, "gone")
    if found != paths:
        sys.exit("fail: other names")


def until_gone(step):
    while True:
        try:
            step()
        except OSError as error:
            if error.errno in GONE and os.path.exists(STOPPING):
                return
            sys.exit(f"fail: {error}")


def reader(number, contents):
    rng = random.Random(SEED * 100 + number)
    # Half of them go from CPU to CPU, and so from queue to queue, whatever the scheduler thinks.
    cpus = sorted(os.sched_getaffinity(0))
    paths = sorted(contents)

    def step():
        if number % 2 and rng.random() < 0.05:
            try:
                os.sched_setaffinity(0, {rng.choice(cpus)})
            except OSError as error:
                if error.errno != errno.EINVAL:  # it is offline now
                    raise
        read_some(rng, paths, contents)

    until_gone(step)


def main():
    contents = {}
    for name in names(SOURCE):
        with open(f"{SOURCE}/{name}", "rb") as file:
            contents[name] = file.read()
    listed = set(contents)
    contents = {name: content for name, content in contents.items() if content}
    jobs = [multiprocessing.Process(target=reader, args=(number, contents)) for number in range(READERS)]
    jobs.append(multiprocessing.Process(target=until_gone, args=(lambda: list_all(listed),)))
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    sys.exit(1 if any(job.exitcode for job in jobs) else 0)


main()
