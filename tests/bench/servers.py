# SPDX-License-Identifier: MIT
"""servers.py VOLUME MOUNTPOINT [COUNT]: how long readers wait when the server of a mount is replaced.

Mounts with the datasetfs in PATH, and has the server killed COUNT times, then upgraded as often: first with nobody
else, then with eight readers of random files, whose pages are dropped. The first answer is a lookup of an absent
name."""
import multiprocessing
import os
import random
import signal
import statistics
import subprocess
import sys
import time

READERS = 8
PAUSE = 0.4  # s between two, in which readers come back to their speed


def files_of(mount):
    return [os.path.join(folder, name) for folder, _, names in os.walk(mount) for name in names]


def read(path):
    file = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        while os.read(file, 1 << 20):
            pass
    finally:
        os.close(file)


def reader(number, paths, ending, results):
    """Puts the count of its reads and the longest one's time."""
    dice, count, longest = random.Random(number), 0, 0
    while not ending.is_set():
        path = dice.choice(paths)
        began = time.monotonic()
        read(path)
        longest = max(longest, time.monotonic() - began)
        count += 1
    results.put((count, longest))


class Mount:
    def __init__(self, volume, mountpoint):
        self.path = mountpoint
        self.daemon = subprocess.Popen(["datasetfs", "-f", volume, mountpoint], stderr=subprocess.DEVNULL)
        while not os.path.ismount(mountpoint):
            time.sleep(0.05)
        self.absent = 0

    def first_answer(self):
        self.absent += 1
        os.path.exists(f"{self.path}/absent{self.absent}")

    def kill(self):
        """The time from the death to the first answer."""
        server = subprocess.run(["pgrep", "-P", str(self.daemon.pid), "-x", "datasetfs"], capture_output=True,
                                check=True).stdout.split()[-1]
        began = time.monotonic()
        os.kill(int(server), signal.SIGKILL)
        self.first_answer()
        return time.monotonic() - began

    def upgrade(self):
        """The longest of the lookups that are made one after the other meanwhile."""
        longest = 0
        with subprocess.Popen(["datasetfsctl", "upgrade", self.path], stdout=subprocess.DEVNULL) as command:
            while command.poll() is None:
                began = time.monotonic()
                self.first_answer()
                longest = max(longest, time.monotonic() - began)
        if command.returncode:
            sys.exit(f"no upgrade: status {command.returncode}")
        return longest

    def end(self):
        subprocess.run(["umount", self.path], check=True)
        self.daemon.wait()


def series(what, replace, count):
    times = []
    for _ in range(count):
        time.sleep(PAUSE)
        times.append(replace() * 1000)
    print(f"{what}: median {statistics.median(times):.1f} ms, at most {max(times):.1f} ms, of {count}", flush=True)


def loaded(what, replace, count, paths):
    ending, results = multiprocessing.Event(), multiprocessing.Queue()
    readers = [multiprocessing.Process(target=reader, args=(i, paths, ending, results)) for i in range(READERS)]
    for process in readers:
        process.start()
    series(f"{what}, {READERS} readers", replace, count)
    ending.set()
    counts, longest = zip(*(results.get() for _ in readers))
    for process in readers:
        process.join()
    print(f"{what}: of {sum(counts)} reads the longest took {max(longest) * 1000:.1f} ms", flush=True)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    count = int(sys.argv[3]) if len(sys.argv) == 4 else 30
    mount = Mount(*sys.argv[1:3])
    try:
        paths = files_of(mount.path)
        loaded("nothing", lambda: 0, count, paths)
        for what, replace in (("kill", mount.kill), ("upgrade", mount.upgrade)):
            series(what, replace, count)
            loaded(what, replace, count, paths)
    finally:
        mount.end()


main()
