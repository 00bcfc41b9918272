#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What compare.py does not look at: files by mmap(2), with what stands behind their ends, types of names in listings,
links of directories.

usage: kernel_view.py OURS KERNEL

Exit status: 0 alike, 1 different."""
import ctypes
import mmap
import os
import sys

PAGE = mmap.PAGESIZE
MOST = 4 << 20  # of a larger file only its end is mapped
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def mapped(fd, offset, length):
    """So many bytes as a mapping shows them; Python's own mappings end with the file."""
    address = LIBC.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, fd, offset)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    try:
        return ctypes.string_at(address, length)
    finally:
        LIBC.munmap(address, length)


def compare_file(ours, kernel, name):
    fds = [os.open(name, os.O_RDONLY, dir_fd=folder) for folder in (ours, kernel)]
    try:
        size = os.fstat(fds[0]).st_size
        start = max(0, size - MOST) // PAGE * PAGE
        want = os.pread(fds[0], size - start, start)
        want += bytes(-len(want) % PAGE)
        return not want or mapped(fds[1], start, len(want)) == want
    finally:
        for fd in fds:
            os.close(fd)


def kind(entry):
    """By the listing alone."""
    return entry.is_symlink(), entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False)


def listing(fd):
    with os.scandir(fd) as entries:
        return {entry.name: (kind(entry), entry.inode()) for entry in entries}


class Views:
    """Folders by descriptors, as paths may be longer than PATH_MAX."""

    def __init__(self):
        self.found, self.files = [], 0

    def folder(self, path, ours, kernel):
        seen, theirs = listing(ours), listing(kernel)
        if {name: entry[0] for name, entry in seen.items()} != {name: entry[0] for name, entry in theirs.items()}:
            self.found.append((path, "listing"))
            return
        if os.fstat(ours).st_nlink != os.fstat(kernel).st_nlink:
            self.found.append((path, "number of links"))
        for name, ((_, is_folder, is_file), number) in theirs.items():
            if os.lstat(name, dir_fd=kernel).st_ino != number:
                self.found.append((f"{path}/{name}", "inode number of the listing"))
            if is_folder:
                self.inside(f"{path}/{name}", name, ours, kernel)
            elif is_file:
                self.files += 1
                if not compare_file(ours, kernel, name):
                    self.found.append((f"{path}/{name}", "mapping"))

    def inside(self, path, name, *folders):
        fds = [os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder) for folder in folders]
        try:
            self.folder(path, *fds)
        finally:
            for fd in fds:
                os.close(fd)


def main():
    views = Views()
    views.folder("", *(os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in sys.argv[1:]))
    for path, what in views.found[:20]:
        print(f"{path[-200:]!r}: {what} differs")
    print(f"{views.files} files mapped, {len(views.found)} differences")
    return 1 if views.found or not views.files else 0


sys.exit(main())
