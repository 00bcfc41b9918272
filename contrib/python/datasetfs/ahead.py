# SPDX-License-Identifier: MIT
"""Reads the files of an order of blocks: one window of it is in memory, while a thread reads the next one."""
import bisect
import os
import warnings

from .shuffle import Order

PIECE = 8 << 20  # bytes that one call reads, about: the device is busy, and memory of the size is used again
SPARE = 2  # times as much as the files of a window should have; the others are read when they are needed


def whole_blocks(samples, block, least):
    """Cuts samples, which increase, into pieces of at least so many, each but the last of whole blocks."""
    first = 0
    while first < len(samples):
        last = samples[min(first + least, len(samples)) - 1]
        end = bisect.bisect_left(samples, (last // block + 1) * block, first)
        yield samples[first:end]
        first = end


class Window:
    """The files of a window by index."""

    def __init__(self, thread, data, pieces, room):
        self._files, self._is_wanted = {}, True
        self._end = thread.submit(self._read, data, pieces, room)

    def _read(self, data, pieces, room):
        for samples in pieces:
            if not self._is_wanted or room <= 0:
                return
            indices = data.in_place(samples)
            views = data.read_each(indices)
            room -= sum(len(view) for view in views if isinstance(view, memoryview))
            self._files.update(zip(indices, views))

    def take(self, indices):
        """Moves out those that are here, so that memory is freed with the last of what was read at once."""
        self._end.result()
        taken = ((index, self._files.pop(index, None)) for index in indices)
        return {index: view for index, view in taken if view is not None}

    def forget(self):
        self._is_wanted = False


class Ahead:
    """What one process reads of an epoch: the batches of one worker, in their order."""

    def __init__(self, recipe, mean):
        self._recipe, self._process, self._mean = recipe, os.getpid(), mean
        from concurrent.futures import ThreadPoolExecutor  # here, as most programs that import us need none of it

        self._order = Order(*recipe[:5])
        self._last, self._is_in_order, self._windows = None, True, {}  # last: the number of a batch
        self._thread = ThreadPoolExecutor(1, "datasetfs-ahead")  # has one ring, and its buffers

    def goes_on(self, recipe, number):
        """An iteration that begins again does not, and a process that was forked has none of the threads."""
        return self._recipe == recipe and self._process == os.getpid() and number >= recipe.deal.workers

    def forget(self):
        """Waits for the read in progress."""
        self._forget_windows()
        if self._process == os.getpid():
            self._thread.shutdown()

    def _forget_windows(self):
        for window in self._windows.values():
            window.forget()
        self._windows.clear()

    def _follow(self, number):
        """Batches of one worker follow each other. Otherwise there are not as many workers as the sampler thinks, and
        windows would be read that others hand out: each batch is read as it comes."""
        workers = self._recipe.deal.workers
        if self._is_in_order and self._last is not None and number != self._last + workers:
            self._is_in_order = False
            self._forget_windows()
            warnings.warn(f"batch {number} comes behind batch {self._last}, and the sampler deals to {workers} workers:"
                          " files are read one by one. Say Sampler(…, workers=) as the DataLoader has num_workers",
                          RuntimeWarning, stacklevel=4)
        self._last = number
        return self._is_in_order

    def read(self, data, indices, number):
        """A view or an OSError for each."""
        found = {}
        for window in self._move(data, number) if self._follow(number) else ():
            found.update(window.take(indices))
        missing = [index for index in indices if index not in found]
        if missing:
            found.update(zip(missing, data.read_each(missing)))
        return [found[index] for index in indices]

    def _move(self, data, number):
        """The windows of a batch. Those behind them are forgotten, and the next one is begun."""
        wanted = self._order.windows_of(self._recipe.deal, self._recipe.rank, number)
        if not wanted:
            return []
        for passed in [window for window in self._windows if window < wanted[0]]:
            self._windows.pop(passed).forget()
        for coming in [*wanted, wanted[-1] + 1]:
            if coming not in self._windows:
                self._begin(data, coming)
        return [self._windows[window] for window in wanted if window in self._windows]

    def _begin(self, data, number):
        deal = self._recipe.deal
        samples = self._order.window(deal, self._recipe.rank, self._last % deal.workers, number)
        if not samples:
            return
        pieces = whole_blocks(sorted(samples), self._recipe.block, max(int(PIECE / max(self._mean, 1)), 1))
        room = SPARE * self._mean * len(samples) + PIECE
        self._windows[number] = Window(self._thread, data, pieces, room)
