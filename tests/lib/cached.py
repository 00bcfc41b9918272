# SPDX-License-Identifier: MIT
"""Tells which pages of a file are in the page cache."""
import ctypes
import mmap
import os


def absent(path):
    """Counts those that are not: the kernel takes cold ones away at any time, DAMON even when there is memory."""
    size = os.path.getsize(path)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY) as pages:
        present = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
        start = ctypes.c_ubyte.from_buffer(pages)
        failed = ctypes.CDLL(None).mincore(ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(size), present)
        del start
    if failed:
        raise OSError("mincore() fails")
    return sum(not page & 1 for page in present)
