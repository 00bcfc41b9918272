# SPDX-License-Identifier: MIT
"""Reads every file of a mount in many ways and compares with the source.

usage: reads.py SOURCE MOUNT [--seed N] [--rounds N]
Ways: pread of any offset and size, O_DIRECT, mmap shared and private, sendfile, preadv, sequential in odd steps.
"""
import argparse
import errno
import mmap
import os
import random
import stat
import sys
import tempfile

PAGE = 4096


def files_of(top):
    for where, _, files in os.walk(os.fsencode(top)):
        for name in sorted(files):
            path = os.path.join(where, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                yield os.path.relpath(path, os.fsencode(top))


def fail(path, what):
    sys.exit(f"fail: {os.fsdecode(path)!r}: {what}")


def spots(rng, size, rounds):
    """Offsets and sizes that meet every kind of boundary."""
    yield 0, size + 10
    yield max(0, size - 1), 100
    yield size, 10
    yield size + 5000, 10
    for _ in range(rounds):
        edge = rng.choice((0, PAGE, 128 << 10, 1 << 20)) * rng.randrange(1 + size // PAGE) % (size + 1)
        offset = max(0, edge + rng.randrange(-3, 4)) if rng.random() < 0.5 else rng.randrange(size + 1)
        yield offset, rng.choice((1, 2, 511, 512, PAGE - 1, PAGE, PAGE + 1, 65536, 131072, 131073, 1 << 20,
                                  rng.randrange(1, 3 << 20)))


def by_pread(rng, path, source, fd, size, rounds):
    for offset, length in spots(rng, size, rounds):
        expected = os.pread(source, length, offset)
        found = b""
        while len(found) < length:
            piece = os.pread(fd, length - len(found), offset + len(found))
            if not piece:
                break
            found += piece
        if found != expected:
            fail(path, f"pread of {length} at {offset} differs: {len(found)} bytes, expected {len(expected)}")


def by_direct(rng, path, source, mounted, size, rounds):
    try:
        fd = os.open(mounted, os.O_RDONLY | os.O_DIRECT)
    except OSError as error:
        fail(path, f"O_DIRECT open: {error.strerror}")
    room = mmap.mmap(-1, 2 << 20)
    for _ in range(rounds):
        offset = rng.randrange(1 + size // PAGE) * PAGE
        length = rng.choice((PAGE, 16 * PAGE, 33 * PAGE, 256 * PAGE, 512 * PAGE))
        count = os.preadv(fd, [memoryview(room)[:length]], offset)
        if room[:count] != os.pread(source, length, offset):
            fail(path, f"O_DIRECT read of {length} at {offset} differs ({count} bytes)")
    os.close(fd)


def by_mmap(rng, path, source, fd, size, rounds):
    if size == 0:
        return
    shared = mmap.mmap(fd, size, mmap.MAP_SHARED, mmap.PROT_READ)
    private = mmap.mmap(fd, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
    for _ in range(rounds):
        offset = rng.randrange(size)
        length = rng.randrange(1, 300000)
        expected = os.pread(source, length, offset)
        if shared[offset:offset + length] != expected or private[offset:offset + length] != expected:
            fail(path, f"mmap differs at {offset}")
    before = shared[size // 2]
    private[size // 2] = before ^ 0xff
    if shared[size // 2] != before or os.pread(fd, 1, size // 2) != bytes([before]):
        fail(path, "a write to a private mapping shows in the file")
    tail = size % PAGE
    if tail and bytes(shared[size - tail:]) != os.pread(source, tail, size - tail):
        fail(path, "the last page of the mapping differs")
    shared.close()
    private.close()


def by_sendfile(path, source, fd, size):
    with tempfile.TemporaryFile() as out:
        offset = 0
        while offset < size:
            count = os.sendfile(out.fileno(), fd, offset, size - offset)
            if count == 0:
                break
            offset += count
        if offset != size or os.pread(out.fileno(), size, 0) != os.pread(source, size, 0):
            fail(path, f"sendfile of {size} bytes gave {offset} or others")


def by_steps(rng, path, source, fd, size):
    """Odd steps with the descriptor's own position, and two buffers at once."""
    os.lseek(fd, 0, os.SEEK_SET)
    at = 0
    while at < size:
        one, two = bytearray(rng.randrange(1, 200000)), bytearray(rng.randrange(1, 70000))
        count = os.readv(fd, [one, two])
        if not count or bytes(one + two)[:count] != os.pread(source, count, at):
            fail(path, f"readv at {at} differs")
        at += count
    if os.read(fd, 10) != b"":
        fail(path, "bytes after the end")


def ends(path, fd, size):
    if os.lseek(fd, 0, os.SEEK_END) != size:
        fail(path, "SEEK_END is not the size")
    for whence in (os.SEEK_DATA, os.SEEK_HOLE):
        try:
            os.lseek(fd, size, whence)
            fail(path, "SEEK_DATA or SEEK_HOLE at the end works")
        except OSError as error:
            if error.errno != errno.ENXIO:
                fail(path, f"SEEK_DATA or SEEK_HOLE at the end: {error.strerror}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("source")
    parser.add_argument("mount")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    rng = random.Random(options.seed)
    count = 0
    for path in files_of(options.source):
        mounted = os.path.join(os.fsencode(options.mount), path)
        source = os.open(os.path.join(os.fsencode(options.source), path), os.O_RDONLY)
        fd = os.open(mounted, os.O_RDONLY)
        size = os.fstat(source).st_size
        by_pread(rng, path, source, fd, size, options.rounds)
        by_direct(rng, path, source, mounted, size, options.rounds // 4)
        by_mmap(rng, path, source, fd, size, options.rounds // 4)
        ends(path, fd, size)
        if size < 8 << 20:
            by_sendfile(path, source, fd, size)
            by_steps(rng, path, source, fd, size)
        os.close(fd)
        os.close(source)
        count += 1
    if not count:
        sys.exit("fail: no files")
    print(f"{count} files")


main()
