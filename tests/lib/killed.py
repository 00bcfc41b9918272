# SPDX-License-Identifier: MIT
"""killed.py MOUNT SOURCE SECONDS: readers of all kinds compare a mount with its source, as far as it lies in folders if
it has any, while its servers are killed.
They end after SECONDS, or when the file 'stop' appears; prints what was read, and how long the longest read of a small
file took; fails at the first error."""
import ctypes
import hashlib
import mmap
import os
import random
import signal
import subprocess
import sys
import threading
import time

ALIGN = 4096


def fail(text):
    print(f"fail: {text}", flush=True)
    os._exit(1)


class Load:
    def __init__(self, mount, source, seconds):
        self.mount, self.source = mount, source
        self.until = time.monotonic() + seconds
        self.files, self.sums = [], {}
        for folder, _, names in os.walk(source):
            if folder != source:
                self.files += [os.path.relpath(os.path.join(folder, name), source) for name in names]
        self.files = self.files or os.listdir(source)
        self.large = max(self.files, key=lambda name: os.path.getsize(os.path.join(source, name)))
        self.files.remove(self.large)  # what takes long is no wait
        self.counts, self.longest = {}, 0.0
        self.lock = threading.Lock()

    def over(self):
        return time.monotonic() > self.until or os.path.exists("stop")

    def expected(self, name):
        if name not in self.sums:
            with open(os.path.join(self.source, name), "rb") as file:
                self.sums[name] = hashlib.sha1(file.read()).digest()
        return self.sums[name]

    def check(self, kind, name, data, began):
        if hashlib.sha1(data).digest() != self.expected(name):
            fail(f"{kind}: '{name}' has other bytes")
        with self.lock:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            self.longest = max(self.longest, time.monotonic() - began)

    # ---- readers; each reads one file ----

    def plain(self, path):
        with open(path, "rb") as file:
            return file.read()

    def mapped(self, path):
        with open(path, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return b""
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as view:
                return bytes(view)

    def direct(self, path):
        file = os.open(path, os.O_RDONLY | os.O_DIRECT)
        try:
            size, data = os.fstat(file).st_size, b""
            room = mmap.mmap(-1, 1 << 18)
            while len(data) < size:
                count = os.preadv(file, [room], len(data))
                if count <= 0:
                    fail(f"direct: '{path}' ends after {len(data)} of {size} bytes")
                data += room[:count]
            return data
        finally:
            os.close(file)

    def dropped(self, path):
        """Reads past the page cache, by dropping the pages first."""
        file = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            with open(file, "rb", closefd=False) as stream:
                return stream.read()
        finally:
            os.close(file)

    def run(self, kind, read):
        dice = random.Random(kind)
        while not self.over():
            name = dice.choice(self.files)
            began = time.monotonic()
            try:
                data = read(os.path.join(self.mount, name))
            except OSError as error:
                fail(f"{kind}: '{name}': {error}")
            self.check(kind, name, data, began)

    # ---- programs ----

    def program(self, kind, command, status=0):
        while not self.over():
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            # A switch gives folders other times, of which tar takes note.
            lines = [line for line in done.stderr.splitlines() if "file changed as we read it" not in line]
            if done.returncode != status and (lines or done.returncode != 1):
                fail(f"{kind}: status {done.returncode}: {done.stderr[-300:]}")
            with self.lock:
                self.counts[kind] = self.counts.get(kind, 0) + 1

    def long(self, kind, command):
        """A command that writes the large file."""
        while not self.over():
            hashed = hashlib.sha1()
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                while data := process.stdout.read(1 << 20):
                    hashed.update(data)
            if process.returncode or hashed.digest() != self.expected(self.large):
                fail(f"{kind}: '{self.large}' has other bytes, status {process.returncode}")
            with self.lock:
                self.counts[kind] = self.counts.get(kind, 0) + 1


def signalled(load):
    """A process of its own that gets a signal every few milliseconds while it reads."""
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
    load.run("signals", load.dropped)
    print(f"signals {load.counts.get('signals', 0)} longest={load.longest:.3f}", flush=True)
    os._exit(0)


def main():
    load = Load(sys.argv[1], sys.argv[2], float(sys.argv[3]))
    child = signalled(load)
    # Not the root: a switch changes it, and tar says so.
    folders = sorted(name for name in os.listdir(load.source) if os.path.isdir(os.path.join(load.source, name)))
    jobs = [(load.run, "plain", load.plain), (load.run, "dropped", load.dropped), (load.run, "mapped", load.mapped),
            (load.run, "direct", load.direct),
            (load.program, "find", ["find", load.mount, "-type", "f", "-newermt", "1970-01-02"]),
            (load.long, "dd", ["dd", f"if={load.mount}/{load.large}", "bs=64k", "iflag=nocache", "status=none"]),
            (load.program, "tar", ["tar", "-C", load.mount, "-cf", "/dev/zero", *(folders or sorted(load.files))])]
    threads = [threading.Thread(target=job[0], args=job[1:]) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if os.waitpid(child, 0)[1]:
        fail("signals: see above")
    counts = " ".join(f"{kind}={count}" for kind, count in sorted(load.counts.items()))
    print(f"{counts} longest={load.longest:.3f}")


main()
