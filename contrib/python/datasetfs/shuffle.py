# SPDX-License-Identifier: MIT
"""The order of an epoch, as dsfs_shuffle(3) specifies it and libdatasetfs computes it."""
import collections
import ctypes

from . import library as dsfs

# How the rest of an epoch is dealt: what struct dsfs_shuffle_deal has, but for the rank.
Deal = collections.namedtuple("Deal", "world workers batch_size drop_last")


def _deal(deal, rank):
    return dsfs.ShuffleDeal(ctypes.sizeof(dsfs.ShuffleDeal), bool(deal.drop_last), rank, deal.world, deal.workers,
                            deal.batch_size)


class Order:
    """Samples 0 … count - 1 in blocks that come at random; block=1: each at random.

    dealt: (deal, batches) of the interruptions in this epoch: each rank of a deal had so many batches.
    """

    def __init__(self, key, count, block=1, buffer=1, dealt=()):
        self._free = dsfs.library().dsfs_shuffle_free
        options = dsfs.ShuffleOptions(ctypes.sizeof(dsfs.ShuffleOptions), 0, key.encode(), count, block, buffer)
        pointer = ctypes.c_void_p()
        dsfs.check(dsfs.library().dsfs_shuffle_new(ctypes.byref(options), ctypes.byref(pointer)))
        self._pointer = pointer.value
        for deal, batches in dealt:
            dsfs.check(dsfs.library().dsfs_shuffle_resume(self._pointer, _deal(deal, 0), batches))

    def __del__(self):
        if getattr(self, "_pointer", None):
            self._free(self._pointer)

    def __len__(self):
        """Samples that are left to be dealt."""
        return dsfs.library().dsfs_shuffle_left(self._pointer)

    def at(self, position, step, count):
        """Samples at position, position + step, … before they are mixed; behind the end it begins again."""
        found = (ctypes.c_uint64 * count)()
        dsfs.check(dsfs.library().dsfs_shuffle_at(self._pointer, position, step, count, found))
        return found[:]

    def batches(self, deal):
        """How many each rank gets."""
        return dsfs.check(dsfs.library().dsfs_shuffle_batches(self._pointer, _deal(deal, 0)))

    def batch(self, deal, rank, number):
        found = (ctypes.c_uint64 * deal.batch_size)()
        count = dsfs.check(dsfs.library().dsfs_shuffle_batch(self._pointer, _deal(deal, rank), number, found, None))
        return found[:count]

    def windows_of(self, deal, rank, number):
        """The range of numbers of windows from which a batch comes, of those of its worker."""
        found = dsfs.ShuffleWindows()
        dsfs.check(dsfs.library().dsfs_shuffle_batch(self._pointer, _deal(deal, rank), number, None,
                                                     ctypes.byref(found)))
        return range(found.first, found.first + found.count)

    def window(self, deal, rank, worker, number):
        """The samples of a window before they are mixed; none: the worker has no such window."""
        position, count = ctypes.c_uint64(), ctypes.c_uint64()
        dsfs.check(dsfs.library().dsfs_shuffle_window(self._pointer, _deal(deal, rank), worker, number,
                                                      ctypes.byref(position), ctypes.byref(count)))
        return self.at(position.value, 1, count.value) if count.value else []
