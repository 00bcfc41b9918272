# SPDX-License-Identifier: MIT
"""Publishes what a program has: a tar of it goes into mkdatasetfs, and the mark of the tar's end only when everything
was added. So a program that fails or dies publishes nothing."""
import math
import os
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from json import loads
from types import TracebackType
from typing import Any, Protocol

from .member import BLOCK, Member
from .programs import CommandError, Record, answer, arguments, find, volume_name
from .volume import Volume

PROGRAM = "mkdatasetfs"
PIECE = 1 << 20  # bytes that are read or written at once
IN_MEMORY = 16 << 20  # bytes of a stream, before the rest of it goes to a file
END = bytes(2 * BLOCK)
ABORTED = "it was aborted"
PATIENCE = 30  # seconds for a packer to end and to clean up
PROGRESS = 0.5  # seconds


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Buffer(Protocol):
    def __buffer__(self, flags: int, /) -> memoryview: ...


Data = Buffer | str | os.PathLike[str] | Readable


class Published(Record):
    """The summary of mkdatasetfs(8)."""

    volume: str
    volume_uuid: str
    label: str
    sequence: int
    uuid: str
    digest: str
    current: bool
    identical_to: str | None
    files: int
    directories: int
    content_bytes: int
    stored_bytes: int
    shared_bytes: int
    written_bytes: int
    seconds: float


_publishers: "weakref.WeakSet[Publisher]" = weakref.WeakSet()  # of this process


def _after_fork() -> None:
    for publisher in list(_publishers):
        publisher._leave_to_parent()


os.register_at_fork(after_in_child=_after_fork)


class _PackerEnded(Exception):
    """It reads no more."""


class _Packer:
    """mkdatasetfs at work. What it writes goes into memory, as it would wait for somebody to read a pipe."""

    def __init__(self, volume: Volume, options: dict[str, Any]):
        command = [find(PROGRAM), "--json", "--require-end", "--on-duplicate=error", *arguments(options), "--",
                   volume_name(volume), "-"]
        self._output, self._errors = (open(os.memfd_create(PROGRAM), "rb", buffering=0) for _ in range(2))
        self._seen = 0
        self._process = subprocess.Popen(command, bufsize=PIECE, stdin=subprocess.PIPE, stdout=self._output,
                                         stderr=self._errors)
        self._pipe: Any = self._process.stdin

    def send(self, piece: Any) -> None:
        try:
            self._pipe.write(piece)
        except BrokenPipeError:
            raise _PackerEnded from None

    def send_end(self) -> None:
        self.send(END)
        try:
            self._pipe.close()
        except BrokenPipeError:
            raise _PackerEnded from None

    def has_ended(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """Ends it while the pipe is open, so it never sees the end of the archive. SIGTERM makes it remove a file that
        it has begun."""
        self._process.terminate()
        if not self.has_ended(PATIENCE):
            self._process.kill()
            self._process.wait()

    def leave(self) -> None:
        """In a forked process, to which it is no child."""
        self._process.returncode = 0
        self.close()

    def close(self) -> None:
        """Forgets what was not sent yet."""
        for file in (self._pipe.raw, self._output, self._errors):
            file.close()

    @staticmethod
    def _written(file: Any, begin: int = 0) -> bytes:
        return os.pread(file.fileno(), os.fstat(file.fileno()).st_size - begin, begin)

    def progress(self) -> Iterator[Record]:
        """Its lines of progress since the last call."""
        text = self._written(self._errors, self._seen)
        whole = text[:text.rfind(b"\n") + 1]
        self._seen += len(whole)
        return (loads(line, object_hook=Record) for line in whole.splitlines() if line.startswith(b"{"))

    def answer(self) -> Record:
        """Waits for its end. Its summary, or its failure as an exception."""
        status = self._process.wait()
        return answer(PROGRAM, status, self._written(self._output), self._written(self._errors), level=5)


class Publisher:
    """A new version of what is added, which is published when the with block ends without an exception.

    volume: a file, a device, or a list of them. meta: metadata, such as {"licence": "CC-BY-4.0"}. progress: is called
    with files, bytes, seconds and more, by add() and publish(). Further words are options of mkdatasetfs(8):
    compress="zstd", no_current=True. Threads may add together, forked processes may not.
    """

    def __init__(self, volume: Volume, *, label: str | None = None, order: str | None = None, sums: str | None = None,
                 meta: Mapping[str, str] | None = None, progress: Callable[[Record], object] | None = None,
                 **options: Any):
        self.version: Published | None = None  # when it is published
        self._lock = threading.RLock()
        self._closed: str | None = None  # why nothing can be added
        self._writes = False  # a file is being added, by the thread that has the lock
        self._progress, self._next_report = progress, 0.0
        self._temp_dir = options.get("temp_dir")
        self._packer = _Packer(volume, {"label": label, "order": order, "sums": sums, "meta": _texts(meta or {}),
                                        "progress": "json" if progress else "none", **options})
        _publishers.add(self)

    def add(self, name: str | os.PathLike[str], data: Data, *, mode: int | None = None,
            mtime: float | None = None) -> None:
        """Adds a file. data: bytes or another buffer, its contents; a str or PathLike, the path of a file, which gives
        mode, mtime and owner too; or a file open for reading, of which the rest is taken.

        Without them mode is 0o644, mtime is 0, and root the owner. A file that cannot be added for its name, type or
        path may be left out; any later failure ends the publisher.
        """
        member = Member(os.fsdecode(name), mode, mtime)
        if isinstance(data, (str, os.PathLike)):
            with open(data, "rb", buffering=0) as file:
                member.take_attributes(os.fstat(file.fileno()), mode, mtime)
                self._add_file(member, file)
        elif hasattr(data, "read"):
            self._add_file(member, data)
        else:
            content = _buffer(member.name, data)
            self._write(member, content.nbytes, (content,))

    def publish(self) -> Published:
        """Publishes at once, and returns the version."""
        with self._lock:
            if self.version is None:
                self._check("the version cannot be published")
                try:
                    self._packer.send_end()
                    while self._progress and not self._packer.has_ended(PROGRESS):
                        self._report()
                    self.version = Published(self._packer.answer())
                    self._report()
                except _PackerEnded:
                    raise self._failure() from None
                except BaseException as error:
                    self._end(str(error) or type(error).__name__)
                    raise
                self._close("it is published")
            return self.version

    def abort(self) -> None:
        """Publishes nothing. A thread that is adding meanwhile fails."""
        self._end(ABORTED)

    def __enter__(self) -> "Publisher":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is not None or self._closed == ABORTED:
            self.abort()
        else:
            self.publish()

    def _add_file(self, member: Member, file: Any) -> None:
        size = _size(file)
        if size:
            self._write(member, size, _pieces(member.name, file, size))
            return
        with tempfile.SpooledTemporaryFile(IN_MEMORY, dir=self._temp_dir) as spool:
            try:
                for piece in _pieces(member.name, file):
                    spool.write(piece)
            except BaseException:
                self._end(f"{member.name!r} could not be added")
                raise
            size = spool.tell()
            spool.seek(0)
            self._write(member, size, _pieces(member.name, spool))

    def _write(self, member: Member, size: int, pieces: Iterable[Any]) -> None:
        header = member.header(size)
        with self._lock:
            self._check(f"{member.name!r} cannot be added")
            self._writes = True
            try:
                self._packer.send(header)
                for piece in pieces:
                    self._packer.send(piece)
                self._packer.send(bytes(-size % BLOCK))
            except _PackerEnded:
                raise self._failure() from None
            except BaseException:
                self._end(f"{member.name!r} could not be added")
                raise
            finally:
                self._writes = False
            self._report()

    def _report(self) -> None:
        if self._progress and (self.version or time.monotonic() >= self._next_report):
            self._next_report = time.monotonic() + PROGRESS
            for line in self._packer.progress():
                self._progress(line)

    def _check(self, what: str) -> None:
        if self._closed is not None:
            raise ValueError(f"{what}: {self._closed}")
        if self._writes:
            raise ValueError(f"{what}: the file that is being added calls the publisher")

    def _failure(self) -> CommandError:
        """Of the packer, which has ended."""
        try:
            self._packer.answer()
            error = CommandError(f"{PROGRAM} ended before the archive did")
        except CommandError as found:
            error = found
        self._close(str(error))
        return error

    def _end(self, why: str) -> None:
        self._closed = self._closed or why
        self._packer.kill()  # without the lock, as a thread that has it may wait for the packer
        with self._lock:
            self._packer.close()

    def _close(self, why: str) -> None:
        self._closed = self._closed or why
        self._packer.close()

    def _leave_to_parent(self) -> None:
        """In a forked process, for whose end the packer would wait as well."""
        self._lock = threading.RLock()
        if self._closed is None:
            self._closed = "it belongs to the process that made it"
            self._packer.leave()


def _texts(meta: Mapping[str, str]) -> list[str]:
    for key, value in meta.items():
        if not isinstance(value, str) or "=" in key:
            raise ValueError(f"meta: found {key!r}: {value!r}, expected texts, and no '=' in a key")
    return [f"{key}={value}" for key, value in meta.items()]


def _buffer(name: str, data: Any) -> memoryview:
    try:
        view = memoryview(data)
    except TypeError:
        raise TypeError(f"{name!r}: found {type(data).__name__}, expected bytes, a path, or a file open for reading",
                        ) from None
    return view if view.c_contiguous else memoryview(view.tobytes())


def _size(file: Any) -> int:
    """Bytes from where the file is to its end; 0: it does not know, as a stream or a file in /proc. A decompressor of a
    pipe reads to the end to tell, and cannot go back: that is an error, as what it read is gone."""
    try:
        at = end = file.tell()
        if not file.seekable():
            return 0
    except (AttributeError, OSError, ValueError):
        return 0
    try:
        file.seek(0, os.SEEK_END)
        end = file.tell()
    except (OSError, ValueError):
        pass
    file.seek(at)
    return max(end - at, 0)


def _changed(file: Any) -> int | None:
    try:
        return os.fstat(file.fileno()).st_mtime_ns
    except (AttributeError, OSError, ValueError):
        return None


def _pieces(name: str, file: Any, size: int | None = None) -> Iterator[bytes]:
    """The contents of a file to its end, which is to be there after size bytes."""
    left, before = math.inf if size is None else size, _changed(file)
    while left > 0:
        piece = file.read(min(left, PIECE))
        if not isinstance(piece, (bytes, bytearray, memoryview)):
            raise TypeError(f"{name!r}: its file gives {type(piece).__name__}, expected bytes, as of open(…, 'rb')")
        if not piece:
            break
        left -= len(piece)
        yield piece
    if size is not None and (left or file.read(1) or _changed(file) != before):
        raise OSError(f"{name!r}: its file changed while it was read")
