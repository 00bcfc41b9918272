# SPDX-License-Identifier: MIT
"""Every call of CPython that takes a file, on the data set at $MNT, in one process: python_calls.py [SECTION…].
Prints a line a call. It writes into the working directory only."""
import array
import asyncio
import bz2
import codecs
import configparser
import csv
import ctypes
import errno
import fcntl
import filecmp
import fileinput
import fnmatch
import glob
import gzip
import hashlib
import io
import linecache
import lzma
import mmap
import os
import pathlib
import pickle
import resource
import select
import selectors
import shutil
import stat
import struct
import sys
import tarfile
import tempfile
import termios
import threading
import tokenize
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from shown import run_sections, section, show  # noqa: E402

MNT = os.environ["MNT"]
FILES = ["sizes/0", "sizes/1", "sizes/4096", "sizes/4097", "sizes/65537", "sizes/262145", "sizes/1048576", "sizes/3M",
         "sizes/zeros", "sizes/compressible", "holes/middle", "holes/all", "holes/ends", "text/0/000.txt",
         "text/utf-8.txt", "text/no-end.txt", "links/soft", "links/hard", "links/out", "modes/0400"]
TEXT = f"{MNT}/text/big.txt"
SMALL = f"{MNT}/text/0/000.txt"
FEW = [f"{MNT}/{name}" for name in ("sizes/0", "sizes/4097", "sizes/1048576", "sizes/3M", "text/0/000.txt")]
ODD = ["", "/", "text", "missing", "text/missing", "text/0/000.txt/", "text/0/000.txt/x", "sizes/0/.",
    "links/dangling",
       "links/loop", "links/ping", "links/up", "links/up/text/0/000.txt", "links/self/soft", "links/soft/",
           "modes/0000",
       "modes/folder-0000/file", "modes/folder-0111/file", "modes/folder-0444/file", "n" * 256, "x/" * 3000,
       "text/../text/0/000.txt", "text//0///000.txt", "text/./0/./000.txt", "missing/../text/0/000.txt",
       "../mnt/text/0/000.txt", "../outside/file", "../outside/into", "../outside/into-folder/plain",
       "links/out-and-back", "links/out-near", "links/out-folder/file", "links/proc", "links/null", ".datasetfs",
       ".datasetfs/missing", "empty", "names/\udcff\udcfe", "names/new\nline", "many/0000"]


class Opened:
    """A descriptor that is closed at the end, if it still is one"""

    def __init__(self, path, flags=os.O_RDONLY, **words):
        self.fd = os.open(path, flags, **words)

    def __enter__(self):
        return self.fd

    def __exit__(self, *_):
        try:
            os.close(self.fd)
        except OSError as error:
            print(f"close: {errno.errorcode[error.errno]}")


def contents(path, *arguments, **words):
    with open(path, *arguments, **words) as file:
        return file.read()


def read_all(fd, size=65536):
    return b"".join(iter(lambda: os.read(fd, size), b""))


@section
def opening_modes():
    for name in FILES:
        path = f"{MNT}/{name}"
        for mode in ("rb", "r", "r+", "rb+", "w", "x", "a", "a+") if name != "links/out" else ("rb", "r"):
            encoding = {} if "b" in mode else {"encoding": "latin-1"}
            show(f"open {mode} {name}", contents, path, mode, **encoding)
        for buffering in 0, 1, 16, 4096, 1 << 20:
            if buffering != 1:
                show(f"open buffering={buffering} {name}", contents, path, "rb", buffering)
            show(f"open text buffering={buffering} {name}", contents, path, "r", buffering, "latin-1")
        show(f"FileIO {name}", lambda: io.FileIO(path).readall())
        show(f"newline {name}", lambda: contents(path, "r", encoding="latin-1", newline=""))


@section
def opening_flags():
    flags = [name for name in dir(os) if name.startswith("O_")]
    for name in "text/0/000.txt", "text", "links/soft", "links/dangling", "missing", "links/to-folder":
        for flag in flags:
            def opened():
                with Opened(f"{MNT}/{name}", os.O_RDONLY | getattr(os, flag)) as fd:
                    data = os.read(fd, 4096) if stat.S_ISREG(os.fstat(fd).st_mode) and flag != "O_PATH" else b""
                    return fd, fcntl.fcntl(fd, fcntl.F_GETFL), fcntl.fcntl(fd, fcntl.F_GETFD), data
            show(f"{flag} {name}", opened)


@section
def odd_paths():
    for name in ODD:
        path = f"{MNT}/{name}"
        show(f"read {name[:40]!r}", contents, path, "rb")
        for call in os.stat, os.lstat, os.listdir, os.readlink, os.path.realpath, os.access, os.listxattr, \
                os.path.getsize, os.path.exists, os.path.lexists, os.path.isfile, os.path.isdir, os.path.islink:
            arguments = (os.R_OK,) if call is os.access else ()
            show(f"{call.__name__} {name[:40]!r}", call, path, *arguments)
        show(f"bytes {name[:40]!r}", lambda: contents(os.fsencode(path), "rb"))


@section
def reads():
    for path in FEW:
        with Opened(path) as fd:
            size = os.fstat(fd).st_size
            print(f"{os.path.relpath(path, MNT)} is descriptor {fd}")
            show("read 10", os.read, fd, 10)
            show("tell", os.lseek, fd, 0, os.SEEK_CUR)
            for offset in 0, 1, 4095, size - 1, size, size + 1, 1 << 40, -1:
                show(f"pread {offset}", os.pread, fd, 5000, offset)
            show("pread nothing", os.pread, fd, 0, 0)
            show("tell again", os.lseek, fd, 0, os.SEEK_CUR)
            buffers = [bytearray(7), bytearray(0), bytearray(5000), bytearray(1)]
            show("readv", os.readv, fd, buffers)
            show("readv bytes", lambda: b"".join(buffers))
            show("preadv", os.preadv, fd, buffers, 3)
            show("preadv bytes", lambda: b"".join(buffers))
            show("preadv flags", os.preadv, fd, buffers, 3, os.RWF_HIPRI)
            show("preadv wrong flags", os.preadv, fd, buffers, 3, 1 << 20)
            show("rest", read_all, fd)
            show("at end", os.read, fd, 10)
            show("whole", lambda: (os.lseek(fd, 0, 0), read_all(fd, 1 << 20)))
            show("1000 at a time", lambda: (os.lseek(fd, 0, 0), read_all(fd, 1000) if size < 1 << 20 else None))


@section
def seeks():
    for name in "sizes/0", "sizes/4097", "sizes/3M", "holes/middle", "holes/all", "holes/ends", "holes/many":
        with Opened(f"{MNT}/{name}") as fd:
            size = os.fstat(fd).st_size
            for whence in os.SEEK_SET, os.SEEK_CUR, os.SEEK_END, os.SEEK_DATA, os.SEEK_HOLE, 9:
                for offset in 0, 1, 4096, 1048577, size - 1, size, size + 1, -1, -size, -size - 1, 1 << 62, \
                        -(1 << 62):
                    show(f"{name} seek {offset} {whence}", os.lseek, fd, offset, whence)
                    show("there", os.read, fd, 8)


@section
def attributes():
    for name in FILES + ["text", "links/to-folder", "holes/many", "names/-dash", "modes/4755", "modes/folder-1777"]:
        path = f"{MNT}/{name}"
        show(f"stat {name}", os.stat, path)
        show(f"lstat {name}", os.lstat, path)
        show(f"stat no follow {name}", lambda: os.stat(path, follow_symlinks=False))
        def of_descriptor():
            with Opened(path) as fd:
                value = os.fstat(fd), os.stat(fd), os.path.getsize(fd), os.path.exists(fd)
                os.read(fd, 1)
                return (*value, os.fstat(fd))
        show(f"fstat {name}", of_descriptor)
        for mode in os.F_OK, os.R_OK, os.W_OK, os.X_OK, os.R_OK | os.X_OK:
            show(f"access {mode} {name}", os.access, path, mode)
            show(f"access effective {mode} {name}", lambda: os.access(path, mode, effective_ids=True))
        with Opened(MNT) as folder:
            show("fstatat", lambda: os.stat(name, dir_fd=folder))
            show("faccessat", lambda: os.access(name, os.R_OK, dir_fd=folder, follow_symlinks=False))
        show("pathlib", lambda: (pathlib.Path(path).stat(), pathlib.Path(path).is_file(),
            pathlib.Path(path).is_mount()))
    with Opened(SMALL) as one, Opened(SMALL) as two, Opened(f"{MNT}/links/plain") as three:
        show("sameopenfile", lambda: (os.path.sameopenfile(one, two), os.path.sameopenfile(one, three)))
    show("samefile", os.path.samefile, f"{MNT}/links/plain", f"{MNT}/links/folder/hard")


@section
def descriptor_calls():
    """What else may be asked of a descriptor that is open for reading"""
    for path in FEW[1:3] + [FEW[3], f"{MNT}/text"]:
        calls = {
            "write": lambda fd: os.write(fd, b"x"), "pwrite": lambda fd: os.pwrite(fd, b"x", 0),
            "writev": lambda fd: os.writev(fd, [b"x"]), "ftruncate": lambda fd: os.ftruncate(fd, 0),
            "fchmod": lambda fd: os.fchmod(fd, 0o644), "fchown": lambda fd: os.fchown(fd, 1, 1),
            "utime": lambda fd: os.utime(fd, (1, 1)), "fsync": os.fsync, "fdatasync": os.fdatasync,
            "fallocate": lambda fd: os.posix_fallocate(fd, 0, 10), "fchdir": os.fchdir, "listdir": os.listdir,
            "scandir": lambda fd: len(list(os.scandir(fd))), "isatty": os.isatty, "ttyname": os.ttyname,
            "get_inheritable": os.get_inheritable,
            "get_blocking": os.get_blocking, "set_blocking": lambda fd: os.set_blocking(fd, False),
            "get_blocking again": os.get_blocking, "set_inheritable": lambda fd: os.set_inheritable(fd, True),
            "getfd": lambda fd: fcntl.fcntl(fd, fcntl.F_GETFD), "getfl": lambda fd: fcntl.fcntl(fd, fcntl.F_GETFL),
            "setfl append": lambda fd: fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND),
            "getfl again": lambda fd: fcntl.fcntl(fd, fcntl.F_GETFL),
            "statvfs": lambda fd: tuple(os.statvfs(fd))[:2] + tuple(os.statvfs(fd))[9:],
            "pathconf": lambda fd: (os.fpathconf(fd, "PC_NAME_MAX"), os.fpathconf(fd, "PC_PIPE_BUF")),
            "listxattr": os.listxattr, "getxattr": lambda fd: os.getxattr(fd, "user.none"),
            "setxattr": lambda fd: os.setxattr(fd, "user.none", b""), "terminal_size": os.get_terminal_size,
            "device_encoding": os.device_encoding, "tcgetattr": termios.tcgetattr, "tcgetpgrp": os.tcgetpgrp,
            "fadvise": lambda fd: [os.posix_fadvise(fd, 0, 0, advice) for advice in range(6)],
            "fadvise wrong": lambda fd: os.posix_fadvise(fd, 0, 0, 99),
            "lockf": lambda fd: os.lockf(fd, os.F_TLOCK, 0), "lockf test": lambda fd: os.lockf(fd, os.F_TEST, 0),
            "flock": lambda fd: fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB),
            "flock exclusive": lambda fd: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB),
            "lock": lambda fd: fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB),
            "getlk": lambda fd: fcntl.fcntl(fd, fcntl.F_GETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)),
            "getpipe": lambda fd: fcntl.fcntl(fd, 1032), "get_seals": lambda fd: fcntl.fcntl(fd, 1034),
            "getown": lambda fd: fcntl.fcntl(fd, fcntl.F_GETOWN),
            "getsig": lambda fd: fcntl.fcntl(fd, fcntl.F_GETSIG),
            "getlease": lambda fd: fcntl.fcntl(fd, fcntl.F_GETLEASE),
            "wrong fcntl": lambda fd: fcntl.fcntl(fd, 12345),
            "notify": lambda fd: fcntl.fcntl(fd, fcntl.F_NOTIFY, 0),
            "ioctl FIONREAD": lambda fd: fcntl.ioctl(fd, termios.FIONREAD, bytes(4)),
            "ioctl FIGETBSZ": lambda fd: fcntl.ioctl(fd, 2, bytes(4)),
            "ioctl wrong": lambda fd: fcntl.ioctl(fd, 0x1234),
            "ioctl FIOCLEX": lambda fd: (fcntl.ioctl(fd, termios.FIOCLEX), os.get_inheritable(fd)),
            "ioctl FIONCLEX": lambda fd: (fcntl.ioctl(fd, termios.FIONCLEX), os.get_inheritable(fd)),
            "ioctl FIONBIO": lambda fd: (fcntl.ioctl(fd, termios.FIONBIO, b"\1\0\0\0"), os.get_blocking(fd)),
            "ioctl FLAGS": lambda fd: fcntl.ioctl(fd, 0x80086601, bytes(8)),
            "openat below": lambda fd: os.open("x", os.O_RDONLY, dir_fd=fd),
            "openat itself": lambda fd: os.open("", os.O_RDONLY, dir_fd=fd),
            "fstatat below": lambda fd: os.stat("x", dir_fd=fd), "fstatat .": lambda fd: os.stat(".", dir_fd=fd),
            "readlinkat": lambda fd: os.readlink("x", dir_fd=fd),
            "readlinkat itself": lambda fd: os.readlink("", dir_fd=fd),
            "mkdirat": lambda fd: os.mkdir("x", dir_fd=fd), "unlinkat": lambda fd: os.unlink("x", dir_fd=fd),
            "connect": lambda fd: __import__("socket").socket(fileno=os.dup(fd)),
            "execve": lambda fd: os.execve(fd, ["x"], {}), "sendto": lambda fd: os.sendfile(fd, fd, 0, 10)}
        for name, call in calls.items():
            with Opened(path) as fd:
                show(f"{os.path.relpath(path, MNT)} {name}", call, fd)
                if not os.path.isdir(path):
                    show("still", os.read, fd, 20)
        os.chdir(os.environ["PWD"])


@section
def names_of_descriptors():
    """A path call may name a descriptor"""
    for path in FEW[:3]:
        for base in "/proc/self/fd", "/dev/fd", f"/proc/{os.getpid()}/fd", "/proc/thread-self/fd":
            label = base.replace(str(os.getpid()), "PID")
            with Opened(path) as fd:
                os.read(fd, 5)
                show(f"{label} readlink", os.readlink, f"{base}/{fd}")
                show(f"{label} realpath", os.path.realpath, f"{base}/{fd}")
                show(f"{label} stat", os.stat, f"{base}/{fd}")
                show(f"{label} open", contents, f"{base}/{fd}", "rb")
                show(f"{label} listdir", lambda: str(fd) in os.listdir(base))
                show(f"{label} after", os.read, fd, 5)
    with Opened(SMALL) as fd:
        os.read(fd, 100)
        show("fdinfo", lambda: contents(f"/proc/self/fdinfo/{fd}").split("\n")[0])
    fd = os.open(SMALL, os.O_RDONLY)
    saved = os.dup(0)
    os.dup2(fd, 0)
    show("/dev/stdin", contents, "/dev/stdin", "rb")
    show("link to /proc/self/fd/0", contents, f"{MNT}/links/proc", "rb")
    os.dup2(saved, 0)
    os.close(saved)
    os.close(fd)


@section
def duplicates():
    for path in FEW[1:]:
        fd = os.open(path, os.O_RDONLY)
        os.read(fd, 100)
        copy = os.dup(fd)
        show("dup", lambda: (copy - fd, os.read(copy, 10), os.read(fd, 10), os.lseek(fd, 0, os.SEEK_CUR)))
        show("F_DUPFD", lambda: fcntl.fcntl(fd, fcntl.F_DUPFD, 100))
        show("F_DUPFD_CLOEXEC", lambda: fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100))
        show("of it", lambda: (os.read(100, 10), os.read(101, 10), os.get_inheritable(100), os.get_inheritable(101)))
        os.lseek(101, 7, os.SEEK_SET)
        show("shared", lambda: [os.lseek(n, 0, os.SEEK_CUR) for n in (fd, copy, 100, 101)])
        os.close(fd)
        show("closed", os.read, fd, 10)
        show("the others", lambda: [os.read(n, 5) for n in (copy, 100, 101)])
        for inheritable in False, True:
            show("dup2", lambda: (os.dup2(copy, 90, inheritable=inheritable), os.get_inheritable(90)))
            show("dup2 read", os.read, 90, 5)
        # Numbers that are used again
        other = os.open(SMALL, os.O_RDONLY)
        os.dup2(other, copy)
        show("another file there", lambda: (os.fstat(copy).st_ino == os.fstat(other).st_ino, os.read(copy, 20)))
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, copy)
        show("nothing there", lambda: (os.read(copy, 20), os.fstat(copy).st_rdev))
        show("dup2 to itself", lambda: (os.dup2(other, other), os.read(other, 5)))
        os.closerange(fd, 200)
        show("all closed", os.read, copy, 1)
        show("all closed, fstat", os.fstat, other)
        again = os.open("/etc/passwd", os.O_RDONLY)
        show("another in its place", lambda: (again == fd, os.read(again, 4)))
        os.close(again)
    libc = ctypes.CDLL(None, use_errno=True)
    for name, call in {"close_range": lambda fd: libc.close_range(fd, fd, 0), "closefrom": libc.closefrom,
                       "close": libc.close, "syscall": lambda fd: libc.syscall(3, fd)}.items():
        fd = os.open(SMALL, os.O_RDONLY)
        os.read(fd, 3)
        call(fd)
        show(f"after {name}", os.read, fd, 10)
        again = os.open("/dev/zero", os.O_RDONLY)
        show("another", lambda: (again - fd, os.read(again, 3), os.lseek(again, 0, os.SEEK_CUR)))
        os.close(again)
    fd = os.open(SMALL, os.O_RDONLY)
    show("close_range cloexec", lambda: (libc.close_range(fd, fd, 4), os.get_inheritable(fd), os.read(fd, 5)))
    os.close(fd)


@section
def to_other_files():
    for path in FEW:
        name = os.path.basename(path)
        with Opened(path) as fd, Opened("out-" + name, os.O_RDWR | os.O_CREAT | os.O_TRUNC) as out:
            os.read(fd, 1)
            show("sendfile", lambda: (os.sendfile(out, fd, 0, 1 << 22), os.lseek(fd, 0, os.SEEK_CUR)))
            show("sendfile at offset", lambda: (os.sendfile(out, fd, None, 1000), os.lseek(fd, 0, os.SEEK_CUR)))
            show("copy_file_range", lambda: (os.copy_file_range(fd, out, 5000, 10), os.lseek(fd, 0, os.SEEK_CUR)))
            show("copy_file_range on", lambda: (os.copy_file_range(fd, out, 5000), os.lseek(fd, 0, os.SEEK_CUR)))
            show("FICLONE", fcntl.ioctl, out, 0x40049409, fd)
            inside, outside = os.pipe()
            os.lseek(fd, 0, os.SEEK_SET)
            show("splice", lambda: (os.splice(fd, outside, 3000), os.lseek(fd, 0, os.SEEK_CUR)))
            show("splice at offset", lambda: (os.splice(fd, outside, 3000, offset_src=5), os.lseek(fd, 0,
                os.SEEK_CUR)))
            show("in the pipe", lambda: (os.set_blocking(inside, False), os.read(inside, 10000)))
            os.close(inside)
            os.close(outside)
            show("result", lambda: os.pread(out, 1 << 23, 0))
        for copy in shutil.copyfile, shutil.copy, shutil.copy2:
            show(copy.__name__, lambda: (copy(path, f"{copy.__name__}-{name}"), contents(f"{copy.__name__}-{name}",
                "rb")))
        with open(path, "rb") as source, open("fileobj", "wb") as target:
            source.read(3)
            shutil.copyfileobj(source, target, 1000)
        show("copyfileobj", contents, "fileobj", "rb")
        with tempfile.NamedTemporaryFile(dir=".") as target, open(path, "rb") as source:
            target.write(source.read())
            target.flush()
            show("cmp", lambda: (filecmp.cmp(path, target.name, shallow=False), filecmp.cmp(path, target.name)))
    show("copytree", lambda: shutil.copytree(f"{MNT}/text", "tree", symlinks=True))
    show("copytree links", lambda: shutil.copytree(f"{MNT}/links/folder", "links", symlinks=False))
    show("move", shutil.move, f"{MNT}/text/no-end.txt", "moved")


@section
def mappings():
    for path in FEW:
        with Opened(path) as fd:
            for access in "ACCESS_READ", "ACCESS_COPY", "ACCESS_WRITE", "ACCESS_DEFAULT":
                def mapped():
                    with mmap.mmap(fd, 0, access=getattr(mmap, access)) as view:
                        return len(view), view[:], view.find(b"a"), view.madvise(mmap.MADV_WILLNEED)
                show(f"{access} {os.path.basename(path)}", mapped)
            show("private", lambda: mmap.mmap(fd, 4097, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)[:])
            show("second page", lambda: mmap.mmap(fd, 10, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ, offset=4096)[:])
            show("executable", lambda: mmap.mmap(fd, 10, flags=mmap.MAP_PRIVATE, prot=5)[:])
            show("read on", os.read, fd, 10)
        view = None
        with open(path, "rb") as file:
            if os.path.getsize(path):
                view = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        show("after close", lambda: view[:])


@section
def file_objects():
    for path in FEW + [f"{MNT}/text/no-end.txt", f"{MNT}/text/crlf.txt", f"{MNT}/holes/middle"]:
        name = os.path.basename(path)
        with open(path, "rb") as file:
            buffer, numbers = bytearray(3000), array.array("i", bytes(400))
            show(f"{name} readinto", lambda: (file.readinto(buffer), buffer))
            show("readinto1", lambda: (file.readinto1(buffer), buffer))
            show("read1", lambda: len(file.read1(10)))
            show("peek", lambda: file.peek(1)[:1])
            show("array", lambda: (file.readinto(numbers), numbers.tobytes()))
            show("tell", file.tell)
            show("fileno", lambda: os.lseek(file.fileno(), 0, os.SEEK_CUR))
            show("seek", lambda: (file.seek(-5, 2) if os.path.getsize(path) > 5 else 0, file.read()))
            show("seek back", lambda: (file.seek(2), file.read(3), file.seek(1, 1), file.readline(50)))
            show("lines", lambda: (file.seek(0), file.readlines(5000), file.tell()))
            show("raw", lambda: (file.raw.seek(0), file.raw.read(7), file.raw.readall()))
            show("can", lambda: (file.readable(), file.writable(), file.seekable(), file.isatty(), file.mode))
            show("write", file.write, b"x")
            show("truncate", file.truncate, 0)
        with open(path, encoding="latin-1") as file:
            show("text", lambda: (file.read(10), file.tell(), file.readline(), next(file, None), file.encoding))
            show("text seek", lambda: (file.seek(0), file.readlines()))
        for arguments in ("rb",), ("r", -1, "latin-1"), ("rb", 0):
            fd = os.open(path, os.O_RDONLY)
            os.lseek(fd, 3, os.SEEK_SET)
            with os.fdopen(fd, *arguments) as file:
                show(f"fdopen {arguments}", file.read)
        show("detach", lambda: open(path, "rb").detach().read(5))
        fd = os.open(path, os.O_RDONLY)
        with open(fd, "rb", closefd=False) as file:
            show("closefd", lambda: (file.read(10), file.raw.closefd, file.name))
        show("still open", os.read, fd, 10)
        os.close(fd)
        show("opener", lambda: contents(path, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NOATIME)))
        def left():
            file = open(path, "rb")
            fd = file.fileno()
            file.read(1)
            del file
            return os.read(fd, 1)
        show("collected", left)


@section
def libraries():
    """Modules of the standard library that open files in their own ways"""
    archives = f"{MNT}/archives"
    with zipfile.ZipFile(f"{archives}/a.zip") as archive:
        show("zip", lambda: [(info.filename, info.file_size, archive.read(info)) for info in archive.infolist()])
        show("testzip", archive.testzip)
        archive.extractall("zip")
    for name in "a.tar", "a.tar.gz", "a.tar.xz":
        with tarfile.open(f"{archives}/{name}") as archive:
            show(name, lambda: [(info.name, info.size, archive.extractfile(info).read()) for info in archive])
        with open(f"{archives}/{name}", "rb") as file, tarfile.open(fileobj=file, mode="r|*") as archive:
            show(f"{name} as stream", lambda: [info.name for info in archive])
    for module, name in (gzip, "text.gz"), (lzma, "text.xz"), (bz2, "text.gz"):
        show(name, lambda: module.open(f"{archives}/{name}").read())
    show("is", lambda: (zipfile.is_zipfile(f"{archives}/a.zip"), tarfile.is_tarfile(f"{archives}/a.tar")))
    show("file_digest", lambda: hashlib.file_digest(open(FEW[3], "rb"), "sha256").hexdigest())
    show("crc32", lambda: zlib.crc32(contents(FEW[2], "rb")))
    show("csv", lambda: list(csv.reader(open(f"{MNT}/text/table.csv", newline=""))))
    show("linecache", lambda: (linecache.getline(TEXT, 500), linecache.getlines(SMALL)))
    show("fileinput", lambda: list(fileinput.input([SMALL, f"{MNT}/text/no-end.txt"])))
    show("codecs", lambda: codecs.open(f"{MNT}/text/utf-8.txt", encoding="utf-8").read())
    show("wrong encoding", lambda: contents(f"{MNT}/text/latin1.txt", encoding="utf-8"))
    show("tokenize", lambda: tokenize.open(f"{MNT}/modules/script.py").read())
    show("configparser", lambda: configparser.ConfigParser().read([f"{MNT}/missing"]))
    show("pickle", lambda: pickle.load(open(SMALL, "rb")))
    show("fromfile", lambda: array.array("B").fromfile(open(FEW[1], "rb"), 5000))
    show("pathlib", lambda: (pathlib.Path(SMALL).read_bytes(), pathlib.Path(SMALL).read_text(encoding="utf-8")))
    sys.path[:0] = [f"{MNT}/modules", f"{archives}/a.zip"]
    sys.dont_write_bytecode = True
    import importlib.resources
    import importlib.util
    import package
    import zipped_module
    show("import", lambda: (package.VALUE, package.__file__, zipped_module.VALUE, zipped_module.__file__))
    show("resources", lambda: importlib.resources.files("package").joinpath("data.txt").read_text())
    show("find_spec", lambda: importlib.util.find_spec("script").origin)


@section
def directories():
    for name in "text", "links", "names", "many", "empty", "modes/folder-0444", "modes/folder-0111", "text/0/000.txt":
        path = f"{MNT}/{name}"
        show(f"listdir {name}", os.listdir, path)
        show("listdir bytes", os.listdir, os.fsencode(path))
        def entries(where):
            with os.scandir(where) as found:
                return [(entry.name, entry.is_dir(), entry.is_file(), entry.is_symlink(), entry.inode(),
                         entry.is_dir(follow_symlinks=False), entry.stat(follow_symlinks=False)) for entry in found]
        show("scandir", entries, path)
        def of_descriptor():
            with Opened(path) as fd:
                return os.listdir(fd), os.listdir(fd), [entry.name for entry in os.scandir(fd)], entries(fd)
        show("by descriptor", of_descriptor)
        show("pathlib", lambda: sorted(map(str, pathlib.Path(path).iterdir())))
    show("walk", lambda: list(os.walk(MNT)))
    show("walk up", lambda: list(os.walk(f"{MNT}/links", topdown=False, followlinks=False)))
    show("fwalk", lambda: [(top, folders, files, [os.stat(name, dir_fd=fd, follow_symlinks=False) for name in files])
                           for top, folders, files, fd in os.fwalk(f"{MNT}/text")])
    show("glob", lambda: sorted(glob.glob(f"{MNT}/text/**/*.txt", recursive=True)))
    show("iglob", lambda: sorted(glob.glob("*/0*", root_dir=MNT)))
    show("rglob", lambda: sorted(map(str, pathlib.Path(MNT, "links").rglob("*"))))
    show("fnmatch", lambda: fnmatch.filter(os.listdir(f"{MNT}/names"), "*e*"))
    show("dircmp", lambda: filecmp.dircmp(f"{MNT}/text/0", f"{MNT}/text/1").left_only)


@section
def relative_paths():
    here = os.getcwd()
    for folder in MNT, f"{MNT}/text/0", f"{MNT}/links", f"{MNT}/links/to-folder", f"{MNT}/../outside", \
            f"{MNT}/names/" + "/".join(["deep"] * 40):
        os.chdir(folder)
        show(f"cwd {folder}", os.getcwd)
        for path in ("000.txt", "./000.txt", "../0/000.txt", "text/0/000.txt", "..", ".", "", "../links/soft", "soft",
                     "../../outside/file", "to-folder/file", "into", "into-folder/plain", "file", "../folder/file",
                     "around", "../../../../../../../../../../etc/passwd", "../text//0/../0/./000.txt", "hard",
                     "out-near"):
            show(f"open {path!r}", contents, path, "rb")
            show(f"stat {path!r}", os.stat, path)
            show(f"lstat {path!r}", os.lstat, path)
        with Opened(".") as fd:
            os.chdir(here)
            show("by dir_fd", lambda: [os.read(os.open(name, os.O_RDONLY, dir_fd=fd), 10) for name in os.listdir(fd)
                                       if os.path.isfile(f"{folder}/{name}")][:20])
            os.closerange(fd + 1, fd + 60)
            show("dir_fd ..", lambda: os.stat("..", dir_fd=fd))
            os.fchdir(fd)
            show("fchdir", lambda: (os.getcwd(), os.listdir(".")))
        os.chdir(here)
    # A number that was a directory of the data set and is another one now
    fd = os.open(f"{MNT}/text", os.O_RDONLY)
    show("before", lambda: os.stat("0/000.txt", dir_fd=fd))
    other = os.open(f"{MNT}/links", os.O_RDONLY)
    os.dup2(other, fd)
    show("after", lambda: os.stat("0/000.txt", dir_fd=fd))
    show("soft", lambda: os.stat("soft", dir_fd=fd))
    os.close(fd)
    os.close(other)
    os.mkdir("below")
    os.symlink(f"{MNT}/text", "below/text")
    os.symlink(f"{MNT}/text/../links/plain", "below/plain")
    os.symlink("plain", "below/plain-too")
    for path in ("below/text/0/000.txt", "below/plain", "below/plain-too", "below/text/..",
                 "below/text/../links/soft", "below/../below/text/./0/000.txt"):
        show(path, contents, path, "rb")
        show(f"stat {path}", os.stat, path)
        show(f"realpath {path}", os.path.realpath, path)


@section
def threads():
    for path in FEW[1:]:
        size, fd = os.path.getsize(path), os.open(path, os.O_RDONLY)
        with ThreadPoolExecutor(8) as pool:
            pieces = list(pool.map(lambda offset: os.pread(fd, 4096, offset), range(0, size, 4096)))
            show("pread by threads", lambda: b"".join(pieces))
            # Each byte goes to one thread, whichever it is
            found = list(pool.map(lambda _: read_all(fd, 1000), range(8)))
            show("read by threads", lambda: (sum(map(len, found)), sum(map(sum, found))))
            show("open by threads", lambda: [hashlib.sha1(data).hexdigest() for data in
                                             pool.map(lambda _: contents(path, "rb"), range(20))])
        os.close(fd)
    names = [f"{MNT}/many/{number:04}" for number in range(300)]
    with ThreadPoolExecutor(8) as pool:
        show("many", lambda: list(pool.map(lambda name: contents(name, "rb"), names * 3)))
        show("stats", lambda: list(pool.map(os.stat, names)))
    stop = threading.Event()
    def use_numbers_again():
        while not stop.is_set():
            os.close(os.open("/dev/zero", os.O_RDONLY))
    other = threading.Thread(target=use_numbers_again)
    other.start()
    show("beside another", lambda: [contents(name, "rb") for name in names])
    stop.set()
    other.join()


@section
def waiting():
    with Opened(SMALL) as fd:
        show("select", lambda: [len(found) for found in select.select([fd], [fd], [fd], 0)])
        poll = select.poll()
        poll.register(fd, select.POLLIN | select.POLLOUT)
        show("poll", lambda: [events for _, events in poll.poll(0)])
        show("epoll", lambda: select.epoll().register(fd, select.EPOLLIN))
        show("selectors", lambda: selectors.SelectSelector().register(fd, selectors.EVENT_READ).events)
        async def in_loop():
            return await asyncio.to_thread(contents, SMALL, "rb")
        show("asyncio", asyncio.run, in_loop())
        show("read", os.read, fd, 10)


@section
def limits():
    """As many descriptors can be opened with the library as without"""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    opened = []
    try:
        while len(opened) < 100:
            opened.append(os.open(SMALL, os.O_RDONLY))
    except OSError as error:
        print("at the limit:", errno.errorcode[error.errno], len(opened), opened[-1])
    show("read at the limit", lambda: {hashlib.sha1(os.pread(fd, 1 << 20,
        0)).hexdigest() for fd in opened} and len(opened))
    show("dup at the limit", os.dup, opened[0])
    for fd in opened:
        os.close(fd)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    show("again", contents, SMALL, "rb")


@section
def by_ctypes():
    """The C library as extensions use it"""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.fopen.restype = libc.fdopen.restype = libc.freopen.restype = libc.popen.restype = ctypes.c_void_p
    libc.mmap.restype = ctypes.c_void_p
    for path in FEW:
        buffer = ctypes.create_string_buffer(5000)
        for name in b"r", b"rb", b"re", b"rm", b"r+", b"w":
            file = libc.fopen(os.fsencode(path), name)
            print(f"fopen {name}", bool(file), ctypes.get_errno() if not file else 0)
            if not file:
                continue
            file = ctypes.c_void_p(file)
            show("fread", lambda: (libc.fread(buffer, 1, 4999, file), buffer.raw))
            show("ftell", lambda: (libc.ftell(file), libc.feof(file), libc.ferror(file), libc.fgetc(file)))
            show("fseek", lambda: (libc.fseek(file, -10, 2), libc.fread(buffer, 1, 100, file), libc.feof(file),
                buffer.raw))
            show("rewind", lambda: (libc.rewind(file) and 0, libc.fgets(buffer, 100, file) != 0, buffer.value))
            fd = libc.fileno(file)
            show("fileno", lambda: (os.lseek(fd, 0, os.SEEK_CUR) > 0, os.fstat(fd)))
            show("fclose", lambda: libc.fclose(file))
        with Opened(path) as fd:
            show("read", lambda: (libc.read(fd, buffer, 10), buffer.raw[:10]))
            show("syscall read", lambda: (libc.syscall(0, fd, buffer, 10), buffer.raw[:10]))
            show("syscall pread", lambda: (libc.syscall(17, fd, buffer, 10, 3), buffer.raw[:10]))
            show("syscall lseek", lambda: libc.syscall(8, fd, 0, 1))
            show("statx", lambda: (libc.statx(fd, b"", 0x1000, 0xfff, buffer), buffer.raw[:256]))
            show("syscall fstat", lambda: (libc.syscall(5, fd, buffer), buffer.raw[:144]))
            show("readahead", lambda: libc.readahead(fd, ctypes.c_long(0), 4096))
            show("sync", lambda: (libc.syncfs(fd), libc.fsync(fd)))
            show("read after", lambda: (libc.read(fd, buffer, 10), buffer.raw[:10]))
            copy = ctypes.c_void_p(libc.fdopen(os.dup(fd), b"r"))
            show("fdopen of dup", lambda: (libc.fread(buffer, 1, 4000, copy), buffer.raw, libc.fclose(copy)))
        show("statx path", lambda: (libc.statx(-100, os.fsencode(path), 0, 0xfff, buffer), buffer.raw[:256]))
        show("open", lambda: [libc.close(libc.open(os.fsencode(path), flag)) for flag in (0, os.O_CLOEXEC)])


os.umask(0o022)
run_sections()
