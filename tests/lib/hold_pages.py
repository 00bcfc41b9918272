# SPDX-License-Identifier: MIT
"""Keeps a file's pages in the page cache until it is killed, whatever the machine pages out meanwhile.
Prints "held" first.

usage: hold_pages.py FILE
"""
import ctypes
import mmap
import os
import signal
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
libc.mlock.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
fd = os.open(sys.argv[1], os.O_RDONLY)
size = os.fstat(fd).st_size
address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
if address == ctypes.c_void_p(-1).value or libc.mlock(address, size):
    sys.exit(f"cannot hold '{sys.argv[1]}': {os.strerror(ctypes.get_errno())}")
print("held", flush=True)
signal.pause()
