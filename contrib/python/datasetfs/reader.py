# SPDX-License-Identifier: MIT
"""One version of a data set, from a mount or a volume: look-up, names, reads. A handle of libdatasetfs."""
import collections
import ctypes
import errno
import operator
import os
import uuid as uuids

from . import library as dsfs

Info = collections.namedtuple("Info", "way label uuid digest sequence files bytes root ids why order")
PATH = (str, bytes, os.PathLike)
FLAGS = {None: 0, "direct": dsfs.DSFS_OPEN_DIRECT, "mount": dsfs.DSFS_OPEN_MOUNT}
RACES = 3  # a switch can come between look-up and read; that often in a row it does not


def describe(fs):
    found = dsfs.Info(size=ctypes.sizeof(dsfs.Info))
    dsfs.check(dsfs.library().dsfs_info(fs, ctypes.byref(found)))
    uuid = str(uuids.UUID(bytes=bytes(found.uuid)))
    return Info(dsfs.WAYS.get(found.way, str(found.way)), os.fsdecode(found.label), uuid,
                found.digest.decode(), found.sequence, found.files, found.bytes, found.root, found.ids,
                os.fsdecode(found.why), dsfs.ORDERS.get(found.order))


def flags_of(way):
    if way not in FLAGS:
        raise ValueError(f"way={way!r}, expected None, 'direct' or 'mount'")
    return FLAGS[way]


def listed(items, what):
    """As a list. One path is a sequence as well, of characters, which nobody means."""
    if isinstance(items, PATH):
        raise TypeError(f"expected a list of {what}, found the one path {items!r}")
    return list(items)


class Reader:
    """where: a mountpoint, a path below one, or a volume. It stays with its version until refresh().

    Survives fork. Pickled, it is opened again as the same version with the same contents.
    way: None, "direct" (fail rather than go through the mount) or "mount" (go through the mount).
    trust: a file of allowed signers, of whom one must have signed the version; revoked: one of keys that do not count.
    """

    def __init__(self, where, version=None, digest=None, way=None, trust=None, revoked=None):
        self._handle = None
        self.where, self.way = os.path.abspath(os.fspath(where)) if os.path.exists(where) else os.fspath(where), way
        self._trust = trust, revoked
        options = dsfs.Options(ctypes.sizeof(dsfs.Options), flags_of(way), version and os.fsencode(version),
                               digest and digest.encode(), trust and os.fsencode(trust),
                               revoked and os.fsencode(revoked))
        fs = ctypes.c_void_p()
        dsfs.check(dsfs.library().dsfs_open(os.fsencode(self.where), ctypes.byref(options), ctypes.byref(fs)),
                   self.where)
        self._handle = fs.value
        self.info = describe(self._fs)

    def __repr__(self):
        return f"Reader({self.where!r}, version={self.info.label!r}, digest={self.info.digest!r})"

    def __reduce__(self):
        return Reader, (self.where, self.info.label, self.info.digest, self.way, *self._trust)

    @property
    def _fs(self):
        if not self._handle:
            raise ValueError("the reader is closed")
        return self._handle

    @property
    def first_id(self):
        """The id of the version's first inode, from which the others count on."""
        return self.info.sequence << 40 | 1

    def close(self):
        handle, self._handle = self._handle, None
        if handle:
            dsfs.library().dsfs_close(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    __del__ = close

    def refresh(self):
        """To the version that the mount serves now, also if that is another volume; a digest prevents it. True: it is
        another version, and former ids are no longer valid."""
        changed = dsfs.check(dsfs.library().dsfs_refresh(self._fs), self.where) > 0
        if changed:
            self.info = describe(self._fs)
        return changed

    def lookup(self, paths):
        """Ids of paths, which are relative to the root of the data set."""
        paths = listed(paths, "paths")
        ids = dsfs.calls().lookup(self._fs, [os.fsencode(path) for path in paths])
        for path, number in zip(paths, ids):
            if number < 0:
                raise dsfs.failure(number, path)
        return ids

    def _id(self, item):
        if isinstance(item, PATH):
            return self.lookup([item])[0]
        try:
            return operator.index(item)
        except TypeError:
            raise TypeError(f"expected a path or an id, found {item!r}") from None

    def stat(self, item):
        """The os.stat_result of a file by its path, where links are followed, or its id; st_dev is 0."""
        found = dsfs.Stat()
        dsfs.check(dsfs.library().dsfs_stat(self._fs, self._id(item), ctypes.byref(found)))
        return found.result()

    def _text(self, call, number):
        buffer = ctypes.create_string_buffer(4096)
        dsfs.check(call(self._fs, number, buffer, len(buffer)))
        return os.fsdecode(buffer.value)

    def path(self, number):
        """The first path of a file, relative to the root of the data set."""
        return self._text(dsfs.library().dsfs_path, number)

    def readlink(self, number):
        """The target of a symbolic link by its id."""
        return self._text(dsfs.library().dsfs_readlink, number)

    def list(self, directory):
        """(name, id, type) of the entries of a directory, which is a path or an id, in bytewise order of names; types
        are d_type's numbers."""
        entries, number = [], self._id(directory)

        def each(_, pointer):
            entry = pointer.contents
            entries.append((os.fsdecode(entry.name), entry.id, entry.type))
            return 0

        dsfs.check(dsfs.library().dsfs_list(self._fs, number, dsfs.EACH_ENTRY(each), None))
        return entries

    def range(self, directory):
        """(first, count) of the ids of a directory's entries, further names of files left out."""
        first, count = ctypes.c_uint64(), ctypes.c_uint64()
        dsfs.check(dsfs.library().dsfs_range(self._fs, directory, ctypes.byref(first), ctypes.byref(count)))
        return first.value, count.value

    def placed(self, first, count):
        """The ids of `count` files by place, from number `first` of info.files on, as a list; shorter at the
        end. Neighbours in it are read together."""
        ids = (ctypes.c_uint64 * count)()
        return ids[:dsfs.check(dsfs.library().dsfs_placed(self._fs, first, ids, count))]

    def at_places(self, numbers):
        """The same of places that need not follow each other."""
        return dsfs.calls().placed(self._fs, numbers)

    def scan(self, directory, suffixes=None):
        """(first, count, bits, others) of a directory: a bit for each of its ids that is a regular file with one of
        the suffixes (lower case bytes), and (name, id, type) of the other entries and of further names of files."""
        first, count = self.range(directory)
        bits, others = dsfs.calls().scan(self._fs, directory, first, count, suffixes)
        return first, count, bits, [(os.fsdecode(name), number, kind) for name, number, kind in others]

    def read(self, item):
        """The contents of one file by its path or id, as bytes."""
        return bytes(self.read_many([item])[0])

    def read_into(self, number, buffer, offset):
        """Fills a buffer with the bytes of a file, by its id, from an offset on; how many these were."""
        if not len(buffer):
            return 0
        place = ctypes.byref(ctypes.c_char.from_buffer(buffer))
        return dsfs.check(dsfs.library().dsfs_pread(self._fs, number, place, len(buffer), offset))

    def read_many(self, items, errors="raise", ranges=None):
        """The contents of files, by paths or by ids, as memoryviews; one call without the interpreter's lock.

        The views lie in memory that is freed with the last of them. errors="raise": the first file that cannot be
        read raises OSError, whose filename is the item; "return": its place has the OSError instead of a view.
        ranges: (offset, size) for each, of which a view has what is in the file.
        """
        items = listed(items, "paths or ids")
        ranges = None if ranges is None else _pairs(ranges, len(items))
        if items and isinstance(items[0], PATH):
            views, reasons = self._read_paths(_each(os.fsencode, items), ranges)
        else:
            views = dsfs.calls().read_many(self._fs, _each(operator.index, items), ranges)
            reasons = reason_of(views)
        return resolve(items, views, reasons, errors)

    def _read_paths(self, paths, ranges=None):
        for _ in range(RACES):
            ids = dsfs.calls().lookup(self._fs, paths)
            reasons = reason_of(ids)
            found = [number for number in ids if number > 0]
            wanted = ranges and [pair for pair, number in zip(ranges, ids) if number > 0]
            views = dsfs.calls().read_many(self._fs, found, wanted)
            reasons = {**reason_of(views), **reasons}
            if errno.ESTALE not in reasons:
                break
        if len(found) == len(ids):
            return views, reasons
        rest = iter(views)
        return [next(rest) if number > 0 else number for number in ids], reasons


def _each(convert, items):
    try:
        return list(map(convert, items))
    except TypeError:
        kinds = sorted({type(item).__name__ for item in items})
        raise TypeError(f"expected paths or ids, not both, found {' and '.join(kinds)}") from None


def _pairs(ranges, count):
    pairs = [(operator.index(offset), operator.index(size)) for offset, size in ranges]
    if len(pairs) != count:
        raise ValueError(f"{len(pairs)} ranges for {count} files")
    for pair in pairs:
        if not (0 <= pair[0] <= dsfs.WHOLE and 0 <= pair[1] <= dsfs.WHOLE):
            raise ValueError(f"the range {pair}, expected (offset, size), neither of them negative")
    return pairs


def reason_of(results):
    """{errno: why} of the first that failed in the call that was just made; the library keeps that one's."""
    first = next((result for result in results if isinstance(result, int) and result < 0), None)
    return {-first: dsfs.reason()} if first else {}


def resolve(items, views, reasons, errors):
    """Errors among the views become exceptions; the first with an errno gets the reason that is known."""
    if errors not in ("raise", "return"):
        raise ValueError(f"errors={errors!r}, expected 'raise' or 'return'")
    for place, view in enumerate(views):
        if not isinstance(view, int):
            continue
        why = reasons.pop(-view, None) or os.strerror(-view)
        if errors == "raise":  # not by a variable, which the exception's frame would keep, and with it the views
            raise dsfs.named(-view, why, items[place])
        views[place] = dsfs.named(-view, why, items[place])
    return views
