# SPDX-License-Identifier: MIT
"""Runs a command under a process number that is free: process_number.py NUMBER COMMAND…;
exit status 77: it is not free, or we may not choose."""
import ctypes
import errno
import os
import signal
import struct
import sys

SYS_CLONE3 = 435


def clone(number):
    """As fork(2), the child with this number. See clone(2), set_tid."""
    wanted = (ctypes.c_int * 1)(number)
    arguments = struct.pack("=11Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(wanted), 1, 0)
    libc = ctypes.PyDLL(None, use_errno=True)
    child = libc.syscall(SYS_CLONE3, arguments, ctypes.c_size_t(len(arguments)))
    if child < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return child


def main():
    number, command = int(sys.argv[1]), sys.argv[2:]
    try:
        child = clone(number)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.EPERM, errno.ENOSYS, errno.EINVAL):
            print(f"process number {number}: {error.strerror}", file=sys.stderr)
            sys.exit(77)
        raise
    if child == 0:
        os.execvp(command[0], command)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    os.waitpid(child, 0)


main()
