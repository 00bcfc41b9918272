#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a container with a user namespace has, in which user 0 is FIRST of the machine, and so on for 65536 users.

idmapped.py SOURCE TARGET FIRST  mounts a copy of a mount that is idmapped so, as a runtime does for a volume
idmapped.py --run FIRST COMMAND…  runs a command as its root, with all capabilities there
"""
import ctypes
import os
import signal
import sys

CLONE_NEWUSER = 0x10000000
AT_FDCWD, AT_EMPTY_PATH = -100, 0x1000
OPEN_TREE_CLONE, MOVE_MOUNT_F_EMPTY_PATH, MOUNT_ATTR_IDMAP = 1, 4, 0x100000
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442  # on every architecture
libc = ctypes.CDLL(None, use_errno=True)


class Attributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def check(result):
    if result < 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    return result


def in_namespace(first, body):
    """Forks a child that runs body in a new user namespace; returns its number."""
    ready, mapped = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        check(libc.unshare(CLONE_NEWUSER))
        os.write(ready[1], b".")
        os.close(mapped[1])
        os.read(mapped[0], 1)
        body()
        os._exit(1)
    os.read(ready[0], 1)
    for name in ("uid_map", "gid_map"):
        with open(f"/proc/{child}/{name}", "w") as file:
            file.write(f"0 {first} 65536\n")
    os.write(mapped[1], b".")
    return child


def run(first, command):
    def body():
        os.setgroups([])
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
        os.execvp(command[0], command)
    return os.waitstatus_to_exitcode(os.waitpid(in_namespace(first, body), 0)[1])


def mount(source, target, first):
    child = in_namespace(first, signal.pause)
    namespace = os.open(f"/proc/{child}/ns/user", os.O_RDONLY)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    tree = check(libc.syscall(OPEN_TREE, AT_FDCWD, os.fsencode(source), OPEN_TREE_CLONE))
    attributes = Attributes(set=MOUNT_ATTR_IDMAP, userns=namespace)
    check(libc.syscall(MOUNT_SETATTR, tree, b"", AT_EMPTY_PATH, ctypes.byref(attributes),
                       ctypes.sizeof(attributes)))
    check(libc.syscall(MOVE_MOUNT, tree, b"", AT_FDCWD, os.fsencode(target), MOVE_MOUNT_F_EMPTY_PATH))


if sys.argv[1] == "--run":
    sys.exit(run(int(sys.argv[2]), sys.argv[3:]))
mount(sys.argv[1], sys.argv[2], int(sys.argv[3]))
