#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Mounts as container runtimes and mount.fuse3 -o drop_privileges do, and leaves /dev/fuse to a program.

usage: give_mount.py MOUNTPOINT USER PROGRAM ARGUMENT…
USER: of the mount and of the program. In the arguments, FD stands for the descriptor's number. BARE=1: the program gets
a mount namespace whose /dev has nothing but null."""
import ctypes
import os
import sys

mountpoint, user, *command = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        sys.exit(f"{name}: {os.strerror(ctypes.get_errno())}")


fd = os.open("/dev/fuse", os.O_RDWR)
os.set_inheritable(fd, True)
options = f"fd={fd},rootmode=40000,user_id={user},group_id={user},allow_other,default_permissions"
call("mount", b"given", mountpoint.encode(), b"fuse.datasetfs", 1 | 2 | 4, options.encode())
if os.environ.get("BARE"):
    call("unshare", 0x20000)
    call("mount", b"none", b"/", None, 1 << 19 | 1 << 14, None)  # slave, all of it
    call("umount2", mountpoint.encode(), 2)  # it would stay there for ever
    call("mount", b"none", b"/dev", b"tmpfs", 0, None)
    os.umask(0)
    os.mknod("/dev/null", 0o20666, os.makedev(1, 3))
if user != "0":
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
command = [word.replace("FD", str(fd)) for word in command]
os.execvp(command[0], command)
