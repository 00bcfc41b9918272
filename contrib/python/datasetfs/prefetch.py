# SPDX-License-Identifier: MIT
"""A sampler that tells a mount some batches ahead which files come; layout and numbers: include/datasetfs/control.h."""
import array
import collections
import contextlib
import fcntl
import os
import struct
import threading
import warnings

from .mount import Mount

DSFS_PREFETCH_MOST = 1024
# struct dsfs_prefetch: flags, count, digest, taken, credit, restarts, reserved, reason; then the numbers of files
HEAD = struct.Struct("=II32sIIII504s")
DSFS_IOC_PREFETCH = 3 << 30 | HEAD.size + 8 * DSFS_PREFETCH_MOST << 16 | ord("d") << 8 | 2

NO_FILE = 0  # the mount passes it over

# Where the kernel serves the mount:
KERNEL_BYTES = 256 << 20  # of files that it reads before they are handed out
KERNEL_FILE = 1 << 20  # of each; it reads on by itself when the file is read


def _path_of(sample):
    return sample[0] if isinstance(sample, (tuple, list)) else sample


class _Numbers:
    """st_ino of a data set's files by index: looked up when it is first wanted, and kept in 8 bytes."""

    def __init__(self, dataset, mount):
        self.samples = dataset.samples  # paths, or tuples that begin with one as torchvision's do
        self.mount = mount
        self.forget()

    def forget(self):
        self.device = None
        self.numbers = array.array("Q", bytes(8 * len(self.samples)))

    def _look_up(self, sample):
        if self.device is None:
            self.device = os.stat(self.mount.path).st_dev
        try:
            found = os.stat(_path_of(sample))
        except OSError:
            return NO_FILE  # whoever opens it is told why
        return found.st_ino if found.st_dev == self.device else NO_FILE

    def __getitem__(self, index):
        number = self.numbers[index]
        if not number:
            number = self.numbers[index] = self._look_up(self.samples[index])
        return number


class _Subset:
    """The same of a torch.utils.data.Subset."""

    def __init__(self, subset, mount):
        self.indices = subset.indices
        self.numbers = _numbers_of(subset.dataset, mount)
        self.forget = getattr(self.numbers, "forget", lambda: None)

    def __getitem__(self, index):
        return self.numbers[self.indices[index]]


def _numbers_of(files, mount):
    if hasattr(files, "samples"):
        return _Numbers(files, mount)
    if hasattr(files, "dataset") and hasattr(files, "indices"):
        return _Subset(files, mount)
    return files


def _paths_of(files):
    """A function from an index to a path; None: the data set knows no paths."""
    if hasattr(files, "samples"):
        return lambda index: _path_of(files.samples[index])
    if hasattr(files, "dataset") and hasattr(files, "indices"):
        paths = _paths_of(files.dataset)
        return paths and (lambda index: paths(files.indices[index]))
    return None


def prefetch(mount, digest, files):
    """One call: tells the mount of at most DSFS_PREFETCH_MOST numbers of files, an array('Q').

    Returns how many of them it took, from the first one on, how many more it would take, and how many of its servers
    have died: with each it forgot what it had been told. OSError says why it takes none.
    """
    command = bytearray(HEAD.size + 8 * DSFS_PREFETCH_MOST)
    HEAD.pack_into(command, 0, 0, len(files), bytes.fromhex(digest.partition(":")[2]), 0, 0, 0, 0, b"")
    command[HEAD.size:HEAD.size + 8 * len(files)] = files.tobytes()
    fd = os.open(os.path.join(mount.path, ".datasetfs", "control"), os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(fd, DSFS_IOC_PREFETCH, command, True)
    except OSError as error:
        reason = HEAD.unpack_from(command)[7].split(b"\0")[0].decode(errors="replace")
        raise OSError(error.errno, reason or error.strerror, mount.path) from None
    finally:
        os.close(fd)
    return HEAD.unpack_from(command)[3:6]


class _Ahead:
    """Of an epoch: the numbers of files that the sampler has given, and how many of them the mount was told of."""

    def __init__(self, mount, digest, numbers):
        self.mount, self.digest, self.numbers = mount, digest, numbers
        self.files = array.array("Q")
        self.first = self.passed = 0  # how many of the epoch came before those in files; how many were handed out
        self.told = 0  # of those in files
        self.restarts = None

    def add(self, _item, indices):
        self.files.extend(map(self.numbers.__getitem__, indices))

    def hand_out(self, _item, count):
        self.passed += count

    def close(self):
        pass

    def _drop_passed(self):
        """Those that were handed out are left out: it is too late for them."""
        count = min(self.passed - self.first, len(self.files))
        del self.files[:count]
        self.told = max(self.told - count, 0)
        self.first += count

    def tell(self):
        """Another server of the mount is told everything again; it is asked whether it is another one in any case."""
        credit, is_told = 1, False
        self._drop_passed()
        while credit and not is_told:
            files = self.files[self.told:self.told + DSFS_PREFETCH_MOST]
            taken, credit, restarts = prefetch(self.mount, self.digest, files)
            is_same = self.restarts in (None, restarts)
            self.told, self.restarts = self.told + taken if is_same else 0, restarts
            is_told = is_same and self.told == len(self.files)


class _AheadOfWindows(_Ahead):
    """The same for a sampler that mixes blocks of neighbours within windows: the mount reads a block at once when it
    was told of all its files.

    The sampler's mixes_blocks is true, and it has windows_of(item), a list of windows, (stream, number): those that the
    item comes from, and the next. A stream is read in the order of its numbers, from 0 on. window((stream, number))
    gives the indices, block by block.
    """

    def __init__(self, mount, digest, numbers, sampler):
        super().__init__(mount, digest, numbers)
        self.sampler = sampler
        self.windows = {}  # those in files, in this order: how many files each has
        self.passed = {}  # of each stream, the first window of the item that was handed out last

    def add(self, item, _indices):
        for window in self.sampler.windows_of(item):
            if window not in self.windows:
                indices = self.sampler.window(window)
                self.windows[window] = len(indices)
                super().add(item, indices)

    def hand_out(self, item, _count):
        for stream, number in self.sampler.windows_of(item)[:1]:
            self.passed[stream] = number

    def _drop_passed(self):
        at = 0
        for (stream, number), count in list(self.windows.items()):
            if number >= self.passed.get(stream, 0):
                at += count
                continue
            del self.windows[stream, number], self.files[at:at + count]
            self.told -= min(max(self.told - at, 0), count)


class _AheadByKernel:
    """The same of a mount that the kernel serves: a thread opens each file and has the kernel read it, as that may wait
    for the device."""

    def __init__(self, paths):
        self.paths = paths
        self.changed = threading.Condition()
        self.waiting = collections.deque()  # (number in the epoch, path)
        self.added = self.passed = 0  # how many of the epoch were added; how many were handed out
        self.sizes = {}  # by number: what was read and not handed out
        self.bytes = 0  # their sum
        self.thread = None
        self.is_closed = False

    def add(self, _item, indices):
        files = [(number, self.paths(index)) for number, index in enumerate(indices, self.added)]
        self.added += len(files)
        with self.changed:
            self.waiting.extend(files)

    def tell(self):
        if not self.thread:
            self.thread = threading.Thread(target=self._read, name="datasetfs-prefetch", daemon=True)
            self.thread.start()
        with self.changed:
            self.changed.notify()

    def hand_out(self, _item, count):
        with self.changed:
            for number in range(self.passed, self.passed + count):
                self.bytes -= self.sizes.pop(number, 0)
            self.passed += count
            if self.waiting:
                self.changed.notify()

    def close(self):
        with self.changed:
            self.is_closed = True
            self.changed.notify()

    def _next(self):
        """The next file that was not handed out; None: the end."""
        with self.changed:
            while not self.is_closed:
                while self.waiting and self.waiting[0][0] < self.passed:
                    self.waiting.popleft()
                if self.waiting and self.bytes < KERNEL_BYTES:
                    return self.waiting.popleft()
                self.changed.wait()
        return None

    def _has_read(self, number, size):
        with self.changed:
            if number >= self.passed:
                self.sizes[number] = size
                self.bytes += size

    def _read(self):
        while file := self._next():
            number, path = file
            with contextlib.suppress(OSError):  # whoever opens it is told why
                self._has_read(number, _read_by_kernel(path))


def _read_by_kernel(path):
    """Starts reading the file, and returns how much of it."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        size = min(os.fstat(fd).st_size, KERNEL_FILE)
        os.posix_fadvise(fd, 0, size, os.POSIX_FADV_WILLNEED)
        return size
    finally:
        os.close(fd)


class PrefetchSampler:
    """Yields what another sampler yields, and tells a mount some batches ahead which files that will be.

    sampler yields indices or, as a batch sampler, lists of them. files says which file an index is: a data set with
    `samples` as torchvision's ImageFolder has them, a Subset of one, or anything that gives the number of a file
    (st_ino) by index, such as array('Q'). The files are on `mount`, a path or a Mount; one that the kernel serves needs
    `samples`, and a thread reads ahead.

    The inner sampler is asked for items batches_ahead batches (of batch_size, if it yields single indices) before they
    are needed. If it mixes blocks of files, the mount is told of whole windows: of the one that is read and the next
    (see _AheadOfWindows). Where the mount takes no files, or none now, the epoch goes on without; the first time that
    is said by a warning. Everything else, such as set_epoch(), is the inner sampler's. state_dict() is its state when
    it gave the item that was yielded last.
    """

    def __init__(self, sampler, mount, files, batches_ahead=4, batch_size=256):
        self.sampler = sampler
        self.mount = mount if isinstance(mount, Mount) else Mount(mount)
        self.files, self.numbers = files, _numbers_of(files, self.mount)
        self.batches_ahead, self.batch_size = batches_ahead, batch_size
        if getattr(sampler, "workers", 1) is None:
            sampler.workers = 1  # what the mount keeps is for all workers, so they share the windows
        self._digest = self._state = None
        self._warned = False

    def __len__(self):
        return len(self.sampler)

    def __getattr__(self, name):
        if name == "sampler":  # while it is unpickled
            raise AttributeError(name)
        found = getattr(self.sampler, name)
        return {"state_dict": self._state_dict, "load_state_dict": self._load_state_dict}.get(name, found)

    def _state_dict(self):
        return self.sampler.state_dict() if self._state is None else self._state

    def _load_state_dict(self, state):
        self._state = None
        return self.sampler.load_state_dict(state)

    def _give_up(self, error):
        if not self._warned:
            warnings.warn(f"nothing is read ahead: {error}", RuntimeWarning, stacklevel=3)
        self._warned = True

    def _begin(self):
        """None: the mount is not to be told."""
        try:
            digest = self.mount.version["digest"]
        except OSError as error:
            self._give_up(error)
            return None
        if digest != self._digest and self._digest:
            getattr(self.numbers, "forget", lambda: None)()  # the files of another version have other numbers
        self._digest = digest
        if self.mount.is_by_kernel:
            return self._begin_by_kernel()
        if getattr(self.sampler, "mixes_blocks", False):
            return _AheadOfWindows(self.mount, digest, self.numbers, self.sampler)
        return _Ahead(self.mount, digest, self.numbers)

    def _begin_by_kernel(self):
        paths = _paths_of(self.files)
        if paths:
            return _AheadByKernel(paths)
        self._give_up("a mount that the kernel serves needs paths: give a data set with 'samples', not numbers of"
                      " files")
        return None

    def _tell(self, ahead):
        try:
            ahead.tell()
        except OSError as error:
            self._give_up(error)
            return None
        return ahead

    def _items(self):
        """What the sampler yields, as (item, its indices, the sampler's state after it)."""
        state = getattr(self.sampler, "state_dict", lambda: None)
        for item in self.sampler:
            yield item, (item,) if hasattr(item, "__index__") else item, state()

    def __iter__(self):
        ahead, self._state = self._begin(), None
        try:
            yield from self._iterate(ahead)
        finally:
            if ahead:
                ahead.close()

    def _iterate(self, ahead):
        waiting, untold = collections.deque(), 0  # items
        for item, indices, state in self._items():
            unit = self.batch_size if indices is not item else 1
            waiting.append((item, len(indices), state))
            if ahead:
                ahead.add(item, indices)
                untold += 1
            if ahead and untold >= unit:
                ahead, untold = self._tell(ahead), 0
            if len(waiting) > self.batches_ahead * unit:
                yield self._hand_out(waiting, ahead)
        if ahead and untold:
            ahead = self._tell(ahead)
        while waiting:
            yield self._hand_out(waiting, ahead)
        self._state = None

    def _hand_out(self, waiting, ahead):
        item, count, self._state = waiting.popleft()
        if ahead:
            ahead.hand_out(item, count)
        return item
