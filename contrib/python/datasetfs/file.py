# SPDX-License-Identifier: MIT
"""A file of a version that is open: Python's own buffers above the library, as open() has them above the kernel."""
import errno
import io
import os

from . import library as dsfs


class _Raw(io.RawIOBase):
    mode = "rb"

    def __init__(self, reader, number, name):
        self.reader, self.number, self.name, self._at = reader, number, name, 0
        self.size = reader.stat(number).st_size

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, offset, whence=os.SEEK_SET):
        at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        if at < 0:
            raise OSError(errno.EINVAL, f"a place before the beginning: {at}", self.name)
        self._at = at
        return at

    def readinto(self, buffer):
        with dsfs.naming(self.name):
            count = self.reader.read_into(self.number, buffer, self._at)
        self._at += count
        return count

    def readall(self):
        with dsfs.naming(self.name):
            found = bytes(self.reader.read_many([self.number], ranges=[(self._at, dsfs.WHOLE)])[0])
        self._at += len(found)
        return found


class File(io.BufferedReader):
    """Pickled, it is opened again, at the same place, if its version has the same contents."""

    def __init__(self, fs, path, reader, number, block_size):
        raw = _Raw(reader, number, path)
        super().__init__(raw, max(1, min(block_size, raw.size)))
        self.fs, self.path, self.size, self.blocksize = fs, path, raw.size, block_size

    @property
    def digest(self):
        """Of its version."""
        return self.raw.reader.info.digest

    def __reduce_ex__(self, _):
        return _open_again, (self.fs, self.path, self.blocksize, self.digest, self.tell())


def _open_again(fs, path, block_size, digest, place):
    file = fs.open(path, "rb", block_size)
    if file.digest != digest:
        raise OSError(errno.EBADMSG, f"found the digest {file.digest} of its version, expected {digest}", path)
    file.seek(place)
    return file
