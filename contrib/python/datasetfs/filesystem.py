# SPDX-License-Identifier: MIT
"""fsspec's filesystem datasetfs://VOLUME@VERSION/PATH or datasetfs://MOUNTPOINT/PATH, by which pandas, pyarrow, Dask
and others read a version. Paths are these without datasetfs://."""
import collections.abc
import contextlib
import datetime
import errno
import functools
import hashlib
import os
import stat

from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem

from . import library as dsfs
from .file import File
from .reader import flags_of
from .sources import divide, source

AT_ONCE = 1024  # files that are read with one call, after which their bytes are copied
AHEAD = 128 << 10  # bytes that an open file reads at once, at least
KINDS = {stat.S_IFDIR: "directory", stat.S_IFREG: "file"}
FIELDS = ("mode", "uid", "gid", "mtime", "ino", "nlink")
DT_LNK = 10


def _described(name, found, target=None):
    kind = KINDS.get(stat.S_IFMT(found.st_mode), "other")
    described = {"name": name, "size": found.st_size, "type": kind, "created": found.st_ctime,
                 "islink": target is not None, **{field: getattr(found, "st_" + field) for field in FIELDS}}
    return described if target is None else {**described, "destination": target}


def _described_entry(reader, name, inside, number, kind):
    """As LocalFileSystem describes it: a link has the size of what it leads to, and nothing else of that."""
    found = reader.stat(number)
    if kind != DT_LNK:
        return _described(name, found)
    described = _described(name, found, reader.readlink(number))
    try:
        return {**described, "size": reader.stat(inside).st_size}
    except OSError:
        return {**described, "size": 0}


def _target(reader, inside, number):
    """Of the link at a path that leads to this file; None: it is none."""
    with contextlib.suppress(OSError):  # a file may have too long a name, or one outside of the folder that is mounted
        if reader.path(number) == inside:
            return None
    folder, _, name = inside.rpartition("/")
    entries = reader.list(folder or "/")
    return next((reader.readlink(entry) for found, entry, kind in entries if found == name and kind == DT_LNK), None)


@functools.lru_cache(maxsize=None)
def _lists_files():
    """Whether ls() of a file gives the file, as in later releases of fsspec, or fails."""
    try:
        return bool(LocalFileSystem().ls(os.devnull))
    except NotADirectoryError:
        return False


def _bounds(bounds, count):
    """One for each of the paths."""
    is_one = isinstance(bounds, (str, bytes)) or not isinstance(bounds, collections.abc.Iterable)
    return [bounds] * count if is_one else list(bounds)


def _pair(reader, inside, start, end):
    """(offset, size) of a slice of a file."""
    if (start or 0) < 0 or (end or 0) < 0:
        start, end, _ = slice(start, end).indices(reader.stat(inside).st_size)
    start = start or 0
    return start, dsfs.WHOLE if end is None else max(end - start, 0)


class FileSystem(AbstractFileSystem):
    """Options are those of datasetfs.Reader; those behind them are fsspec's, and change nothing here."""

    protocol = "datasetfs"
    root_marker = "/"

    def __init__(self, digest=None, way=None, trust=None, revoked=None, *, use_listings_cache=None,
                 listings_expiry_time=None, max_paths=None, asynchronous=None, loop=None):
        super().__init__()
        dsfs.library()  # exists() would hide that there is none
        flags_of(way)
        self._options = digest, way, trust, revoked
        self._sources = {}  # by how paths begin. Replaced, never changed: readers take no lock
        self._digests = {}  # of versions that were opened; another process expects the same

    def __reduce__(self):
        return _made_again, (type(self), self.storage_args, self.storage_options, self._digests)

    @classmethod
    def _strip_protocol(cls, path):
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        path = super()._strip_protocol(os.fsdecode(path))
        if "\0" in path:
            raise ValueError(f"{path!r} has a zero byte")
        is_whole = path.startswith(("/", "nvme:", "uuid:"))
        return path if is_whole else os.path.join(os.getcwd(), path)

    def _locate(self, path):
        """(path as it is named here, the Reader of its version, path there)"""
        path = self._strip_protocol(path)
        for begin, found in self._sources.items():
            if path.startswith(begin) and path[len(begin):len(begin) + 1] in ("", "/"):
                break
        else:
            begin, found = self._add_source(path)
        return path, found.reader(), found.inside(path[len(begin):])

    def _add_source(self, path):
        length, where, version, folder = divide(path)
        begin, (digest, *options) = path[:length], self._options
        found = source(where, version, folder, digest or self._digests.get(begin), *options)
        if version:
            self._digests = {**self._digests, begin: found.reader().info.digest}
        self._sources = {**self._sources, begin: found}
        return begin, found

    def _expect(self, digests):
        """Of versions that another process has opened."""
        others = {begin for begin, digest in digests.items() if self._digests.get(begin) != digest}
        self._digests = {**self._digests, **digests}
        self._sources = {begin: found for begin, found in self._sources.items() if begin not in others}

    # --- names and attributes

    def ls(self, path, detail=True, **kwargs):
        path, reader, inside = self._locate(path)
        with dsfs.naming(path):
            try:
                entries = reader.list(inside)
            except NotADirectoryError:
                if not _lists_files():
                    raise
                found = self.info(path)
                return [found if detail else path]
            if not detail:
                return [f"{path}/{name}" for name, _, _ in entries]
            return [_described_entry(reader, f"{path}/{name}", os.path.join(inside, name), number, kind)
                    for name, number, kind in entries]

    def info(self, path, **kwargs):
        path, reader, inside = self._locate(path)
        with dsfs.naming(path):
            number, = reader.lookup([inside])
            return _described(path, reader.stat(number), _target(reader, inside, number))

    def lexists(self, path, **kwargs):
        """Also if it is a link that leads nowhere."""
        if self.exists(path):
            return True
        with contextlib.suppress(OSError):
            return self._strip_protocol(path) in self.ls(self._parent(path), detail=False)
        return False

    def walk(self, path, maxdepth=None, **kwargs):
        self._locate(path)  # a version that cannot be opened is no empty one
        return super().walk(path, maxdepth, **kwargs)

    def created(self, path):
        return datetime.datetime.fromtimestamp(self.info(path)["created"], datetime.timezone.utc)

    def modified(self, path):
        return datetime.datetime.fromtimestamp(self.info(path)["mtime"], datetime.timezone.utc)

    def ukey(self, path):
        """From the digest of its version, so it is the same wherever this version is read."""
        path, reader, inside = self._locate(path)
        with dsfs.naming(path):
            reader.lookup([inside])
        return hashlib.sha256(os.fsencode(f"{reader.info.digest}/{inside}")).hexdigest()

    def checksum(self, path):
        return int(self.ukey(path)[:32], 16)

    # --- contents

    def _open(self, path, mode="rb", block_size=None, **kwargs):
        if set(mode) & set("wax+"):
            self._refuse(path)
        if mode != "rb":
            raise ValueError(f"mode {mode!r}, expected 'r' or 'rb'")
        path, reader, inside = self._locate(path)
        with dsfs.naming(path):
            number, = reader.lookup([inside])
            reader.read_many([number], ranges=[(0, 0)])  # a directory, or no permission
            return File(self, path, reader, number, AHEAD if block_size in (None, "default") else block_size)

    def cat_ranges(self, paths, starts, ends, max_gap=None, on_error="return", **kwargs):
        """A list of bytes, or of exceptions in their places, with one call for many. The library knows by itself which
        files lie so near each other that they are read together."""
        if not isinstance(paths, list):
            raise TypeError(f"expected a list of paths, found {paths!r}")
        starts, ends = (_bounds(bounds, len(paths)) for bounds in (starts, ends))
        if not len(starts) == len(ends) == len(paths):
            raise ValueError(f"{len(starts)} starts and {len(ends)} ends for {len(paths)} paths")
        if on_error not in ("raise", "return"):
            raise ValueError(f"on_error={on_error!r}, expected 'raise' or 'return'")
        found, wanted = [None] * len(paths), {}
        for place, slice_of in enumerate(zip(paths, starts, ends)):
            try:
                reader, *one = self._range(*slice_of)
                wanted.setdefault(reader, []).append((place, *one))
            except OSError as error:
                found[place] = error
        for reader, ranges in wanted.items():
            for first in range(0, len(ranges), AT_ONCE):
                _read(reader, ranges[first:first + AT_ONCE], found)
        if on_error == "raise":
            _raise_first(found)
        return found

    def _range(self, path, start, end):
        path, reader, inside = self._locate(path)
        with dsfs.naming(path):
            return reader, path, inside, _pair(reader, inside, start, end)

    def cat_file(self, path, start=None, end=None, **kwargs):
        return self.cat_ranges([path], start, end, on_error="raise")[0]

    def cat(self, path, recursive=False, on_error="raise", start=None, end=None, **kwargs):
        """The same as {path: contents}, or as bytes if it is of one path. recursive: of all files below directories."""
        if on_error not in ("raise", "omit", "return"):
            raise ValueError(f"on_error={on_error!r}, expected 'raise', 'omit' or 'return'")
        paths = self.expand_path(path, recursive=recursive)
        if isinstance(path, str) and paths == [self._strip_protocol(path)]:
            return self.cat_file(paths[0], start, end)
        found = {path: contents for path, contents in zip(paths, self.cat_ranges(paths, start, end))
                 if not recursive or not isinstance(contents, IsADirectoryError)}
        if on_error == "raise":
            _raise_first(found.values())
        return {path: contents for path, contents in found.items()
                if on_error == "return" or isinstance(contents, bytes)}

    # --- changes

    def _refuse(self, path, *_, **__):
        raise OSError(errno.EROFS, "versions do not change: publish another one", path)

    def _refuse_second(self, _, path, *__, **___):
        self._refuse(path)

    mkdir = makedirs = rmdir = rm = rm_file = touch = _refuse
    cp_file = put_file = _refuse_second


def _made_again(kind, arguments, options, digests):
    fs = kind(*arguments, **options)
    fs._expect(digests)
    return fs


def _read(reader, ranges, found):
    """ranges: (place in found, path as it is named, path in the version, (offset, size))"""
    views = reader.read_many([inside for _, _, inside, _ in ranges], "return", [pair for *_, pair in ranges])
    for (place, path, _, _), view in zip(ranges, views):
        is_error = isinstance(view, OSError)
        found[place] = dsfs.named(view.errno, view.strerror, path) if is_error else bytes(view)


def _raise_first(found):
    for item in found:
        if isinstance(item, OSError):
            raise item
