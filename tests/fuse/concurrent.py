# SPDX-License-Identifier: MIT
"""Many readers at once, and thousands of open files. usage: concurrent.py SOURCE MOUNT READERS OPEN_FILES"""
import os
import random
import resource
import sys
import threading

PAIRS = []
EACH = 60 if os.environ["DATASETFS_FULL"] == "1" else 20  # files of a reader


def collect(source, mount):
    for where, _, files in os.walk(source):
        for name in files:
            path = os.path.relpath(os.path.join(where, name), source)
            PAIRS.append((os.path.join(source, path), os.path.join(mount, path)))
    PAIRS.sort()
    if not PAIRS:
        sys.exit("fail: no files")


def whole(path):
    with open(path, "rb", buffering=0) as file:
        return file.read()


def open_many(count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, count + 100)), hard))
    count = min(count, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 50)
    held = [(os.open(PAIRS[i % len(PAIRS)][1], os.O_RDONLY), PAIRS[i % len(PAIRS)][0]) for i in range(count)]
    for fd, source in held:
        size = os.fstat(fd).st_size
        if os.pread(fd, 4096, size // 2) != whole(source)[size // 2:size // 2 + 4096]:
            sys.exit(f"fail: {source} differs with {count} files open")
    for fd, _ in held:
        os.close(fd)
    print(f"{count} files open at once")


def read_some(seed, wrong, gate):
    rng = random.Random(seed)
    gate.wait()
    for _ in range(EACH):
        source, mounted = rng.choice(PAIRS)
        try:
            if whole(source) != whole(mounted):
                wrong.append(f"{mounted} differs")
        except OSError as error:
            wrong.append(f"{mounted}: {error.strerror}")


def main():
    collect(sys.argv[1], sys.argv[2])
    open_many(int(sys.argv[4]))
    wrong, count = [], int(sys.argv[3])
    gate = threading.Barrier(count)
    threads = [threading.Thread(target=read_some, args=(seed, wrong, gate)) for seed in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        sys.exit(f"fail: {len(wrong)} wrong reads, such as {wrong[0]}")
    print(f"{count} readers")


main()
