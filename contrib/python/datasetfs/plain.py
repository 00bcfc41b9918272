# SPDX-License-Identifier: MIT
"""The calls that are made for every file or every batch, by ctypes alone; fast.c has the same in C. fs is the address
of a handle."""
import ctypes
import itertools

from .library import EACH_ENTRY, Read, WHOLE, check, library

DT_REG = 8


SPARE, KEPT = 8, 16 << 20  # as in fast.c


class Arena:
    """Memory of the library; lives as long as a view into it."""

    spare = []  # new memory costs a page fault for each 4 KiB that are read into it

    def __init__(self):
        self._free, self._spare, self.used = library().dsfs_arena_free, Arena.spare, 0
        try:
            self.pointer = self._spare.pop()
            library().dsfs_arena_reset(self.pointer)
        except IndexError:
            pointer = ctypes.c_void_p()
            check(library().dsfs_arena_new(ctypes.byref(pointer)))
            self.pointer = pointer

    def view(self, address, size):
        self.used += size
        block = (ctypes.c_char * size).from_address(address) if size else ctypes.create_string_buffer(0)
        block.arena = self
        return memoryview(block).toreadonly().cast("B")

    def __del__(self):
        if not getattr(self, "pointer", None):
            return
        if self.used <= KEPT and len(self._spare) < SPARE:
            self._spare.append(self.pointer)
        else:
            self._free(self.pointer)


def read(fs, path):
    """A file of the version that the mount serves now, as bytes."""
    contents = ctypes.c_void_p()
    check(library().dsfs_refresh(fs))
    size = check(library().dsfs_read_file(fs, path, ctypes.byref(contents)))
    try:
        return ctypes.string_at(contents, size)
    finally:
        _free(contents)


def lookup(fs, paths):
    """An id or a negative errno for each."""
    ids = (ctypes.c_int64 * len(paths))()
    library().dsfs_lookup(fs, (ctypes.c_char_p * len(paths))(*paths), len(paths), ids)
    return list(ids)


def placed(fs, numbers):
    """The id of the file at each of these places, up to the first that is behind the last one."""
    ids, one = [], ctypes.c_uint64()
    for number in numbers:
        if not check(library().dsfs_placed(fs, number, ctypes.byref(one), 1)):
            break
        ids.append(one.value)
    return ids


def read_many(fs, ids, ranges=None):
    """A view or a negative errno for each. ranges: a list of (offset, size); None: whole files."""
    arena, reads = Arena(), (Read * len(ids))()
    for one, number, (offset, size) in zip(reads, ids, ranges or itertools.repeat((0, WHOLE))):
        one.id, one.offset, one.size = number, offset, size
    library().dsfs_read_many(fs, reads, len(ids), arena.pointer)
    return [arena.view(one.buffer, one.result) if one.result >= 0 else one.result for one in reads]


def scan(fs, directory, first, count, suffixes):
    """A directory whose entries have the ids first … first + count - 1: a bit for each that is a regular file with one
    of the suffixes (lower case; None: any), padded to 64, and (name, id, type) of other entries and further names."""
    bits, others = bytearray((count + 63) // 64 * 8), []

    def each(_, pointer):
        entry = pointer.contents
        number = entry.id - first
        if entry.type != DT_REG or not 0 <= number < count:
            others.append((entry.name, entry.id, entry.type))
        elif suffixes is None or entry.name.lower().endswith(suffixes):
            bits[number >> 3] |= 1 << (number & 7)
        return 0

    check(library().dsfs_list(fs, directory, EACH_ENTRY(each), None))
    return bits, others


_free = ctypes.CDLL(None).free
_free.argtypes, _free.restype = [ctypes.c_void_p], None
