# SPDX-License-Identifier: MIT
"""Files by the paths that programs have: read(path) and read_many(paths) find the mount that a path is below, and keep
one handle for each mount. What is on no mount is read plainly."""
import errno
import os
import threading

from . import library as dsfs
from .reader import Reader, listed, resolve

# Everything else may have an answer in the file system: another mount below this one, .datasetfs, a symbolic link out
# of the data set, a mount that has ended.
FINAL = (errno.EIO, errno.EBADMSG, errno.ENOMEM)

_below = {}  # a directory with "/" at its end → Below; few. Replaced, never changed: readers take no lock
_elsewhere = set()  # devices that are no mounts of datasetfs
_lock = threading.Lock()


def _after_fork():
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def _is_bound(top):
    """Whether a mountpoint shows a folder of a datasetfs mount, without the mount's root, as a bind mount does."""
    found = os.stat(top)
    if not found.st_ino >> 40:
        return False
    device = f"{os.major(found.st_dev)}:{os.minor(found.st_dev)}"
    with open("/proc/self/mountinfo", errors="surrogateescape") as table:
        return any(line.split()[2] == device and " - fuse.datasetfs " in line for line in table)


def top_of(path):
    """(mountpoint, the path itself), both without symbolic links."""
    real = os.path.realpath(path)
    device, top = os.stat(real).st_dev, real
    while top != "/" and os.stat(os.path.dirname(top)).st_dev == device:
        top = os.path.dirname(top)
    return top, real


def place_of(path):
    """(mountpoint, path below it) of a path on a datasetfs mount, else None. Symbolic links are followed. The
    mountpoint may show a folder of the mount alone, which is then the root of a Reader."""
    top, real = top_of(path)
    if not os.path.exists(os.path.join(top, ".datasetfs", "version")) and not _is_bound(top):
        return None
    return top, "" if real == top else os.path.relpath(real, top)


class Below:
    """A directory of a mount as a program names it: what is read by names that begin with its own."""

    def __init__(self, prefix, top, inside):
        self.length, self.top = len(prefix), top
        self.inside = os.fsencode(inside) + b"/" if inside else b""
        self.device = os.stat(top).st_dev
        self.reader = Reader(top)
        self.is_direct = self.reader.info.way == "direct"  # else the kernel's way to one file is the shorter one

    def is_mounted(self):
        try:
            return os.stat(self.top).st_dev == self.device
        except OSError:
            return False

    def name(self, path):
        return self.inside + os.fsencode(path[self.length:])

    def read(self, path):
        return dsfs.calls().read(self.reader._fs, self.name(path))

    def read_many(self, paths, errors):
        self.reader.refresh()
        views, reasons = self.reader._read_paths([self.name(path) for path in paths])
        return resolve(paths, views, reasons, errors)


def _absolute(path):
    path = os.fsdecode(path)
    return path if path.startswith("/") else os.path.join(os.getcwd(), path)


def _known(path):
    if "/.." not in path:  # names only go down from a directory whose mount is known
        for prefix, below in _below.items():
            if path.startswith(prefix):
                return below
    return None


def _prefix(path, device):
    """The outermost directory in this spelling of a path that is on the same mount; None: it has no such directory."""
    prefix = None
    while (path := os.path.dirname(path)) and os.stat(path).st_dev == device:
        prefix = path
        if path == "/":
            break
    return prefix


def _find(path):
    """The Below of a path, opened when it is not known yet; None: it is on no datasetfs mount."""
    below = _known(path)
    if below or "/.." in path:
        return below
    device = os.stat(path).st_dev
    if device in _elsewhere:
        return None
    prefix = _prefix(path, device)
    place = prefix and place_of(prefix)
    if not place:
        _elsewhere.add(device)
        return None
    return _open(prefix.rstrip("/") + "/", place)


def _open(prefix, place):
    global _below
    with _lock:
        if prefix not in _below:
            _below = {**_below, prefix: Below(prefix, *place)}
        return _below[prefix]


def _forget(gone):
    """Of a mount that is not there any more; a read that is under way keeps its handle."""
    global _below
    with _lock:
        _below = {prefix: below for prefix, below in _below.items() if below is not gone}


def _plainly(path):
    with open(path, "rb") as file:
        return file.read()


def read(path):
    """The contents of a file, as bytes: what open(path, "rb").read() gives, and its errors.

    A file on a datasetfs mount is read past the kernel's file system, from the version that the mount serves now.
    """
    path, below = _absolute(path), None
    try:
        below = _find(path)
        if below and below.is_direct:
            return below.read(path)
    except OSError as error:
        if error.errno in FINAL:
            raise dsfs.named(error.errno, error.strerror, path) from None
        if below and not below.is_mounted():
            _forget(below)
    return _plainly(path)


def _attempt(path, errors):
    try:
        return memoryview(read(path))
    except OSError as error:
        if errors == "raise":
            raise
        return error


def read_many(paths, errors="raise"):
    """The contents of many files, as memoryviews, in one call for each mount, without the interpreter's lock.

    The views lie in memory that is freed with the last of them. errors="raise": the first file that cannot be read
    raises OSError; "return": its place has the OSError instead of a view.
    """
    given = [_absolute(path) for path in listed(paths, "paths")]
    views, groups = [None] * len(given), {}
    for place, path in enumerate(given):
        below = _known(path)
        if below:
            groups.setdefault(below, []).append(place)
    for below, places in groups.items():
        for place, view in zip(places, below.read_many([given[place] for place in places], "return")):
            views[place] = view
    for place, view in enumerate(views):  # the file system has the last word, as in read()
        if view is None or isinstance(view, OSError) and view.errno not in FINAL:
            views[place] = _attempt(given[place], errors)
        elif isinstance(view, OSError) and errors == "raise":
            raise view
    return views
