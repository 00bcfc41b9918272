# SPDX-License-Identifier: MIT
"""Makes the kernel ask a daemon anew what names are, as it does when the time is over for which an answer holds.

expire.py DAEMON DIRECTORY NAME…: the daemon's process, a directory of its mount. Exit status 77: it cannot be done.
"""
import ctypes
import os
import struct
import sys

PIDFD_GETFD = 438
FUSE_NOTIFY_INVAL_ENTRY = 3
FUSE_EXPIRE_ONLY = 1  # kernels that do not know it drop the name, and ask as well


def descriptor(process):
    """A copy of the one that the daemon answers on: only through it can the kernel be told."""
    folder = f"/proc/{process}/fd"
    number = next(int(name) for name in os.listdir(folder) if os.readlink(f"{folder}/{name}") == "/dev/fuse")
    libc = ctypes.CDLL(None, use_errno=True)
    copy = libc.syscall(PIDFD_GETFD, os.pidfd_open(process), number, 0)
    if copy < 0:
        print(f"skip: no descriptor of another process can be copied: {os.strerror(ctypes.get_errno())}")
        sys.exit(77)
    return copy


def main():
    process, directory, names = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    node = os.stat(directory).st_ino
    fuse = descriptor(process)
    for name in map(os.fsencode, names):
        body = struct.pack("<QII", node, len(name), FUSE_EXPIRE_ONLY) + name + b"\0"
        try:
            os.write(fuse, struct.pack("<IiQ", 16 + len(body), FUSE_NOTIFY_INVAL_ENTRY, 0) + body)
        except FileNotFoundError:
            pass  # the kernel has dropped the name already, and asks as well


main()
