# SPDX-License-Identifier: MIT
"""Memory in which a DataLoader's worker hands over a batch: the process with the loop reads it where it lies, and says
in it when it is done. So it is used again, where new shared memory costs both a page fault for each 4 KiB."""
import ctypes
import mmap
import os
import weakref

HEAD = mmap.PAGESIZE  # of a slab; its first byte says whether somebody uses the bytes behind it
FREE, USED = 0, 1
LEAST = 1 << 20  # bytes of a slab
MOST = 64  # slabs of a process


class Slab:
    """where: what opens its file in other processes. A memfd has no name that could be left behind, and needs no room
    in /dev/shm."""

    def __init__(self, fd, where, room):
        self.where, self.room, self.process = where, room, os.getpid()
        self.memory = mmap.mmap(fd, HEAD + room)

    @property
    def is_free(self):
        return self.memory[0] == FREE

    def let_go(self):
        if self.process == os.getpid():  # a fork has copies of what its parent looks at
            self.memory[0] = FREE

    def tensor(self, size, done):
        """Its first bytes; done() is called when nobody looks at them any more."""
        import torch

        shown = (ctypes.c_char * size).from_buffer(self.memory, HEAD)
        weakref.finalize(shown, done).atexit = False
        return torch.frombuffer(shown, dtype=torch.uint8)


class Loan:
    """A slab of this process that has a batch, until another process has it or nobody wants it."""

    def __init__(self, slab):
        self.slab, self.is_mine = slab, True

    def done(self):
        if self.is_mine:
            self.slab.let_go()

    def hand_over(self):
        """For get() in another process; None: it had that already."""
        if not self.is_mine:
            return None
        self.is_mine = False
        return self.slab.where, self.slab.room


_lent, _known = [], {}  # slabs that this process made, and those of others by where they are


def lend(size):
    """A loan of a slab with room for so many bytes; those that became too small go. None: whoever gets them keeps too
    many, and each takes a descriptor."""
    mine = [slab for slab in _lent if slab.process == os.getpid() and (slab.room >= size or not slab.is_free)]
    slab = next((slab for slab in mine if slab.is_free), None)
    if slab is None and len(mine) >= MOST:
        return None
    if slab is None:
        slab = _made(max(LEAST, 1 << max(size - 1, 0).bit_length()))
        mine.append(slab)
    _lent[:] = mine
    slab.memory[0] = USED
    return Loan(slab)


def _made(room):
    fd = os.memfd_create("datasetfs")  # stays open, as others open it
    os.ftruncate(fd, HEAD + room)
    where = f"/proc/{os.getpid()}/fd/{fd}", os.urandom(8)  # such numbers come again
    slab = Slab(fd, where, room)
    weakref.finalize(slab, os.close, fd).atexit = False
    return slab


def get(where, room, size):
    """The bytes of a loan that another process handed over, which need not be there any more but for the first time."""
    slab = _known.get(where)
    if slab is None or slab.process != os.getpid():
        for other in list(_known):
            if not os.path.exists(other[0]):
                _known.pop(other, None)
        slab = _known[where] = _opened(where, room)
    return slab.tensor(size, slab.let_go)


def _opened(where, room):
    try:
        fd = os.open(where[0], os.O_RDWR)
    except OSError as error:
        raise OSError(error.errno, f"a worker's memory cannot be opened ({error.strerror}): workers have to run as the"
                      " same user with the same /proc, or leave out collate_bytes", where[0]) from None
    try:
        return Slab(fd, where, room)
    finally:
        os.close(fd)
