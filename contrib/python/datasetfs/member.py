# SPDX-License-Identifier: MIT
"""A file in a tar: its attributes, and its header as Python's tarfile makes it."""
import math
import operator
import os
import tarfile
from decimal import Decimal

BLOCK = tarfile.BLOCKSIZE
NUMBERS = b"%07o\0%07o\0%07o\0%011o\0%011o\0"  # mode, uid, gid, size, mtime
REST = tarfile.TarInfo().tobuf(tarfile.PAX_FORMAT)[156:]  # what follows the sum and is the same for all files
REST_SUM = sum(REST) + 8 * ord(" ")


class Member(tarfile.TarInfo):
    def __init__(self, name: str, mode: int | None, mtime: float | None):
        parts = name.split("/")
        if not parts[0] or parts[-1] in ("", ".") or ".." in parts or "\0" in name:
            raise ValueError(f"{name!r} cannot be the name of a file: expected a relative one without '..'")
        super().__init__(name)
        self.mode = 0o644 if mode is None else operator.index(mode)
        if mtime:
            self._set_time(mtime)

    def _set_time(self, mtime: float) -> None:
        if not math.isfinite(mtime):
            raise ValueError(f"{self.name!r}: mtime is {mtime!r}, expected seconds since 1970")
        self.mtime = int(mtime)
        if self.mtime != mtime:
            self.pax_headers["mtime"] = f"{Decimal(repr(float(mtime))):.9f}"

    def take_attributes(self, found: os.stat_result, mode: int | None, mtime: float | None) -> None:
        """Of a file, except those that are given."""
        self.uid, self.gid = found.st_uid, found.st_gid
        if mode is None:
            self.mode = found.st_mode
        if mtime is None:
            seconds, ns = divmod(abs(found.st_mtime_ns), 10**9)
            self.mtime = seconds if found.st_mtime_ns >= 0 else -seconds
            if ns:
                self.pax_headers["mtime"] = f"{'-' * (found.st_mtime_ns < 0)}{seconds}.{ns:09d}"

    def header(self, size: int) -> bytes:
        """Of most files it is made here, as tarfile takes longer for it than everything else takes together."""
        self.size = size
        name = self.name.encode("utf-8", "surrogateescape")
        if (len(name) > 100 or not name.isascii() or self.pax_headers or size >= 1 << 33
                or not 0 <= self.mtime < 1 << 33 or self.uid >= 1 << 21 or self.gid >= 1 << 21):
            return self.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
        head = name.ljust(100, b"\0") + NUMBERS % (self.mode & 0o7777, self.uid, self.gid, size, self.mtime)
        return b"%b%06o\0 %b" % (head, sum(head) + REST_SUM, REST)
