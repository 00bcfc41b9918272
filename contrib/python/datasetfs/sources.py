# SPDX-License-Identifier: MIT
"""VOLUME@VERSION/PATH, MOUNTPOINT/PATH and MOUNTPOINT@VERSION/PATH: what such a path begins with, and its Reader, which
all threads share."""
import errno
import functools
import os
import stat
import threading
import weakref

from .mount import Mount
from .paths import place_of, top_of
from .reader import Reader


def _contents(reader):
    return reader.info.uuid, reader.info.digest


class Source:
    """A version of a volume; or a mount, of which each call reads the version that it serves then. A file that is open
    keeps the version in which it was opened."""

    def __init__(self, where, version, folder, *options):
        self._open = functools.partial(Reader, where, version, *options)
        self._watch = None if version else self._open()  # before the other, which may be newer
        self._reader, self._folder = self._open(), folder
        self.lock = threading.Lock()

    def reader(self):
        if not self._watch:
            return self._reader
        with self.lock:
            self._watch.refresh()
            if _contents(self._reader) != _contents(self._watch):  # refresh() says it only once, and this may fail
                self._reader = self._open()
            return self._reader

    def inside(self, rest):
        return os.path.join(self._folder, rest.lstrip("/")).rstrip("/")


_sources = weakref.WeakValueDictionary()  # fsspec makes a filesystem for each thread, and they share these
_lock = threading.Lock()


def _after_fork():
    global _lock
    _lock = threading.Lock()
    for one in _sources.values():
        one.lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def source(*key):
    with _lock:
        found = _sources.get(key)
        if found is None:
            found = _sources[key] = Source(*key)
        return found


def divide(path):
    """How a path begins: (its length, mountpoint or volume, version, folder there). It leads down to a mount, or out of
    the directories of this machine."""
    device, begin, end, reason = os.stat("/").st_dev, 0, 0, None
    while end < len(path):
        begin, end = end, (path + "/").index("/", end + 1)
        try:
            found = os.stat(path[:end])
        except OSError as error:
            reason = error
            break
        if not stat.S_ISDIR(found.st_mode):
            break
        place = found.st_dev != device and place_of(path[:end])
        if place:
            return end, place[0], None, place[1]
        device, begin = found.st_dev, end
    parts = _of_name(path, begin)
    if parts:
        return parts
    if reason and reason.errno not in (errno.ENOENT, errno.ENOTDIR):
        raise reason
    if begin and Mount(top_of(path[:begin])[0]).is_by_kernel:
        raise OSError(errno.EOPNOTSUPP, "the kernel serves this mount: use the path without datasetfs://, or "
                      "VOLUME@VERSION/…", path)
    raise OSError(errno.ENOENT, "expected VOLUME@VERSION/… or a path on a mount of datasetfs", path)


def _of_name(path, begin):
    """The same of VOLUME@VERSION in the first name that has an @, from there on. Both parts may have one as well."""
    first = path.find("@", begin)
    if first < 0:
        return None
    end = (path + "/").index("/", first)
    places = [place for place in range(end - 1, first - 1, -1) if path[place] == "@"]
    at = next((place for place in places if os.path.exists(path[:place])), places[0])
    where, version = path[:at], path[at + 1:end]
    if not version or not where or where.endswith("/"):
        return None
    top, folder = os.path.isdir(where) and place_of(where) or (where, "")
    return end, top, version, folder
