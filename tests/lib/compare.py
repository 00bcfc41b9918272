#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares two directory trees to the last byte and says where they differ.

usage: compare.py [--ignore WORD[,WORD…]] [--special] [--exclude PATH]… SOURCE COPY

Compared: names, types, permissions, owners, sizes, times to the nanosecond, link groups and counts, symlink
targets, xattrs, holes (a hole of the copy must be zeros in the source) and contents. Words to ignore:
owner mode mtime nanoseconds xattr links holes inodes. Devices, sockets and FIFOs are left out by the packer: they must
be absent from COPY, or with --special present. Of a datasetfs mount with nosuid no setuid and setgid bits are expected.
PATH below SOURCE is not looked at. Works with names of any bytes and below PATH_MAX.
Exit status: 0 identical, 1 different, 2 usage.
"""
import argparse
import os
import stat
import sys

BLOCK = 1 << 20
WHOLE = 256 << 20  # larger files are read where either side has data, and sampled in holes
SHOWN = 50
VERSION = "user.datasetfs-version"  # only in an EROFS; the packer leaves it out


class Differences:
    def __init__(self):
        self.count = 0

    def add(self, path, text):
        self.count += 1
        if self.count <= SHOWN:
            shown = os.fsdecode(path).encode("utf-8", "backslashreplace").decode()
            print(f"{shown[-200:]!r}: {text}")


class Totals:
    files = directories = symlinks = content = left_out = 0


def hidden_mode(copy):
    """Bits of modes that a datasetfs mount does not show."""
    device = os.stat(copy).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
        for line in mounts:
            fields = line.split()
            if fields[2] == number and "nosuid" in fields[5].split(",") and "fuse.datasetfs" in fields:
                return stat.S_ISUID | stat.S_ISGID
    return 0


class Comparison:
    def __init__(self, ignore, special, exclude, hidden):
        self.exclude = exclude
        self.hidden = hidden
        self.ignore = ignore
        self.special = special
        self.found = Differences()
        self.totals = Totals()
        self.groups = {}   # (device, inode) of the source → [inode of the copy, names seen, links said, path]
        self.inodes = {}   # inode of the copy → (device, inode) of the source

    def field(self, path, name, source, copy):
        if source != copy:
            self.found.add(path, f"{name}: source {source!r}, copy {copy!r}")

    def attributes(self, path, source, copy):
        if "mode" not in self.ignore:
            self.field(path, "mode", oct(source.st_mode & ~self.hidden), oct(copy.st_mode))
        if "owner" not in self.ignore:
            self.field(path, "owner", (source.st_uid, source.st_gid), (copy.st_uid, copy.st_gid))
        if "mtime" not in self.ignore:
            scale = 10**9 if "nanoseconds" in self.ignore else 1
            self.field(path, "mtime", source.st_mtime_ns // scale, copy.st_mtime_ns // scale)

    def xattrs(self, path, source_fd, copy_fd):
        if "xattr" in self.ignore:
            return

        def of(fd):
            try:
                names = sorted(os.listxattr(fd))
            except OSError as error:
                if error.errno == 95:  # EOPNOTSUPP
                    return {}
                raise
            return {name: os.getxattr(fd, name) for name in names if name.startswith("user.") and name != VERSION}

        source, copy = of(source_fd), of(copy_fd)
        if source != copy:
            names = [n for n in set(source) | set(copy) if source.get(n) != copy.get(n)]
            self.found.add(path, f"xattrs differ: {sorted(names)[:5]}")

    def group(self, path, source, copy):
        """Names of one inode in the source are names of one inode in the copy, and the other way round."""
        if "links" in self.ignore:
            return
        key = (source.st_dev, source.st_ino)
        if source.st_nlink > 1 and not stat.S_ISDIR(source.st_mode):
            known = self.groups.setdefault(key, [copy.st_ino, 0, copy.st_nlink, path])
            known[1] += 1
            self.field(path, "inode of its link group", known[0], copy.st_ino)
        elif not stat.S_ISDIR(source.st_mode):
            self.field(path, "links", 1, copy.st_nlink)
        if "inodes" not in self.ignore:
            owner = self.inodes.setdefault(copy.st_ino, key)
            if owner != key:
                self.found.add(path, f"inode number {copy.st_ino} is another file's as well")

    def end_groups(self):
        for inode, names, said, path in self.groups.values():
            self.field(path, "links", names, said)

    def content(self, path, source_fd, copy_fd, size):
        offset = 0
        while offset < size:
            if size > WHOLE:
                offset = self.next_data(source_fd, copy_fd, offset, size)
            want = min(BLOCK, size - offset)
            source, copy = os.pread(source_fd, want, offset), os.pread(copy_fd, want, offset)
            if source != copy:
                at = next((i for i, (a, b) in enumerate(zip(source, copy)) if a != b), min(len(source), len(copy)))
                self.found.add(path, f"content differs at byte {offset + at} of {size}")
                return
            if not source:
                return
            offset += len(source)
        self.field(path, "bytes past the end", b"", os.pread(copy_fd, 1, size))
        self.totals.content += size

    @staticmethod
    def next_data(source_fd, copy_fd, offset, size):
        """The next place where either has data, at most 64 MiB on: holes are sampled."""
        nearest = min(offset + (64 << 20), size - 1)
        for fd in (source_fd, copy_fd):
            try:
                nearest = min(nearest, os.lseek(fd, offset, os.SEEK_DATA))
            except OSError:
                pass
        return max(offset, nearest)

    def holes(self, path, source_fd, copy_fd, size):
        """What the copy calls a hole must be zeros in the source."""
        if "holes" in self.ignore or size == 0:
            return
        offset = 0
        while offset < size:
            try:
                data = os.lseek(copy_fd, offset, os.SEEK_DATA)
            except OSError as error:
                if error.errno != 6:  # ENXIO: no data from here on
                    raise
                data = size
            if not offset <= data <= size:
                self.found.add(path, f"SEEK_DATA from {offset} gives {data}")
                return
            if not self.is_zero(source_fd, offset, data):
                self.found.add(path, f"a hole from {offset} to {data}, but the source has data there")
                return
            if data >= size:
                return
            offset = os.lseek(copy_fd, data, os.SEEK_HOLE)
            if not data < offset <= size:
                self.found.add(path, f"SEEK_HOLE from {data} gives {offset}")
                return

    @staticmethod
    def is_zero(fd, start, end):
        while start < end:
            try:
                start = os.lseek(fd, start, os.SEEK_DATA)
            except OSError:
                return True
            if start >= end:
                return True
            piece = os.pread(fd, min(BLOCK, end - start), start)
            if piece.strip(b"\0"):
                return False
            start += len(piece) or end
        return True

    def regular(self, path, name, source_dir, copy_dir, source):
        self.totals.files += 1
        fds = []
        try:
            for directory in (source_dir, copy_dir):
                fds.append(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory))
            self.content(path, *fds, source.st_size)
            self.xattrs(path, *fds)
            if source.st_blocks * 512 < source.st_size or source.st_size > BLOCK:
                self.holes(path, *fds, source.st_size)
        except OSError as error:
            self.found.add(path, f"{error.strerror} after {len(fds)} opens")
        finally:
            for fd in fds:
                os.close(fd)

    def entry(self, path, name, source_dir, copy_dir, source):
        copy = os.stat(name, dir_fd=copy_dir, follow_symlinks=False)
        if stat.S_IFMT(source.st_mode) != stat.S_IFMT(copy.st_mode):
            self.field(path, "type", oct(source.st_mode), oct(copy.st_mode))
            return
        self.attributes(path, source, copy)
        self.group(path, source, copy)
        if stat.S_ISDIR(source.st_mode):
            below = [os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
                     for directory in (source_dir, copy_dir)]
            self.directory(path, *below, copy)
            for fd in below:
                os.close(fd)
        elif stat.S_ISLNK(source.st_mode):
            self.totals.symlinks += 1
            self.field(path, "size", source.st_size, copy.st_size)
            self.field(path, "target", os.readlink(name, dir_fd=source_dir), os.readlink(name, dir_fd=copy_dir))
        elif stat.S_ISREG(source.st_mode):
            self.field(path, "size", source.st_size, copy.st_size)
            if source.st_size == copy.st_size:
                self.regular(path, name, source_dir, copy_dir, source)

    def directory(self, path, source_dir, copy_dir, copy):
        self.totals.directories += 1
        subdirectories = 0
        self.xattrs(path, source_dir, copy_dir)
        listed = [os.fsencode(name) for name in os.listdir(copy_dir)]
        here = set(listed)
        if len(here) != len(listed):
            self.found.add(path, "a name is listed twice")
        for name in sorted(os.fsencode(name) for name in os.listdir(source_dir)):
            source = os.stat(name, dir_fd=source_dir, follow_symlinks=False)
            subdirectories += stat.S_ISDIR(source.st_mode)
            special = not (stat.S_ISDIR(source.st_mode) or stat.S_ISREG(source.st_mode) or stat.S_ISLNK(source.st_mode))
            below = path + b"/" + name if path else name
            if below in self.exclude:
                subdirectories -= stat.S_ISDIR(source.st_mode)
                continue
            if special and not self.special:
                self.totals.left_out += 1
                if name in here:
                    here.discard(name)
                    self.found.add(below, "a special file that should be left out")
                continue
            if name not in here:
                self.found.add(below, "missing in the copy")
                continue
            here.discard(name)
            self.entry(below, name, source_dir, copy_dir, source)
        for name in here:
            self.found.add(path + b"/" + name, "only in the copy")
        if "links" not in self.ignore:
            self.field(path, "links of a directory", subdirectories + 2, copy.st_nlink)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--ignore", default="")
    parser.add_argument("--special", action="store_true")
    parser.add_argument("--exclude", action="append", default=[])
    parser.add_argument("source")
    parser.add_argument("copy")
    options = parser.parse_args()
    sys.setrecursionlimit(20000)
    comparison = Comparison(set(options.ignore.split(",")), options.special,
                            {os.fsencode(path) for path in options.exclude}, hidden_mode(options.copy))
    tops = [os.open(os.fsencode(top), os.O_RDONLY | os.O_DIRECTORY) for top in (options.source, options.copy)]
    comparison.attributes(b".", os.fstat(tops[0]), os.fstat(tops[1]))
    comparison.directory(b"", *tops, os.fstat(tops[1]))
    comparison.end_groups()
    if comparison.found.count:
        print(f"{comparison.found.count} differences")
        sys.exit(1)
    totals = comparison.totals
    print(f"identical: {totals.files} files, {totals.directories} directories, {totals.symlinks} symlinks, "
          f"{totals.content} bytes" + (f", {totals.left_out} special files left out" if totals.left_out else ""))


main()
