# SPDX-License-Identifier: MIT
"""Shuffled indices without a list of them: the same order for any number of ranks, a state of a few numbers, and
resuming in the middle of an epoch with another number of ranks."""
import hashlib
import math
from array import array

ROUNDS = 6
STATE = 1  # what a state's other fields mean, and how a seed makes an order


class Permutation:
    """A pseudo-random order of 0 … length - 1: element(i) is computed from i and √length random numbers.

    A Feistel network on a grid of at least length cells; what falls outside is sent through it again until it does
    not. A round's random function is a table made of SHAKE-128.
    """

    def __init__(self, length, key):
        self.length = length
        self.wide = math.isqrt(max(length - 1, 0)) + 1
        self.high = -(-length // self.wide)
        size = 4 * self.wide  # wide is at least high
        numbers = array("I", hashlib.shake_128(f"{key} {length}".encode()).digest(ROUNDS * size))
        self.rounds = [(numbers[2 * step * self.wide:(2 * step + 1) * self.wide],
                        numbers[(2 * step + 1) * self.wide:(2 * step + 2) * self.wide])
                       for step in range(ROUNDS // 2)]

    def element(self, place):
        high, wide, length = self.high, self.wide, self.length
        while True:
            row, column = divmod(place, wide)
            for down, right in self.rounds:
                row = (row + down[column]) % high
                column = (column + right[row]) % wide
            place = row * wide + column
            if place < length:
                return place


class Sampler:
    """What one rank reads, in a random order that depends on seed and epoch alone.

    data: a DataSet, or a number of samples. Of each world samples in a row of the order every rank gets one, so where
    the ranks stand is one number, whatever world is. shuffle=False: 0, 1, 2 ….
    batch_size=None: yields indices, for DataLoader(…, batch_size=B, sampler=sampler). batch_size=B: yields lists of
    them, for DataLoader(…, batch_size=None, sampler=sampler) or batch_sampler=sampler.
    drop_last: leaves out what does not make a whole sample (or batch) for every rank; otherwise the order is continued
    from its beginning, so that every rank gets equally many, and the last batch may be short.

    At the end of an epoch it goes to the next by itself; set_epoch() is for those who count themselves. When the data
    set was refreshed between two epochs, the next is one of the new version.
    """

    def __init__(self, data, seed=0, rank=0, world=1, batch_size=None, drop_last=False, shuffle=True):
        self._data = None if isinstance(data, int) else data
        self.length, self.digest = (data, None) if isinstance(data, int) else self._now()
        if not 0 <= rank < world:
            raise ValueError(f"rank {rank}, expected 0 … {world - 1}")
        if batch_size is not None and batch_size < 1:
            raise ValueError(f"batch_size {batch_size}, expected at least 1")
        self.seed, self.rank, self.world = seed, rank, world
        self.batch_size, self.drop_last, self.shuffle = batch_size, drop_last, shuffle
        self.epoch, self.position = 0, 0  # where the next iteration begins; position: samples of all ranks
        self._at = 0, 0  # where the last one began

    def _now(self):
        return len(self._data), getattr(self._data, "digest", None)

    def _follow(self):
        if self._data is None or self._now() == (self.length, self.digest):
            return
        if self.position:
            raise ValueError(f"the data set was refreshed from {self.digest} to {self._data.digest} in the middle of"
                             " an epoch; set_epoch() begins one")
        self.length, self.digest = self._now()

    def set_epoch(self, epoch):
        """The next iteration is this epoch's, from its beginning; or goes on in it where a state was loaded."""
        if epoch != self.epoch:
            self.epoch, self.position = epoch, 0

    # --- how many

    def _mine(self, position):
        """Samples of one rank from there on."""
        left = max(self.length - position, 0)
        if not self.drop_last:
            return -(-left // self.world)
        step = self.batch_size or 1
        return left // (self.world * step) * step

    def __len__(self):
        """What the next iteration yields."""
        self._follow()
        mine = self._mine(self.position)
        return mine if self.batch_size is None else -(-mine // self.batch_size)

    # --- which

    def _indices(self, epoch, position):
        mine = self._mine(position)
        order = Permutation(self.length, f"{self.seed} {epoch}").element if self.shuffle else int
        for number in range(position + self.rank, position + self.rank + mine * self.world, self.world):
            yield order(number % self.length)

    def __iter__(self):
        """From position on. An iteration that is left begins there again; one that ends goes to the next epoch."""
        self._follow()
        self._at = epoch, position = self.epoch, self.position
        batch = []
        for index in self._indices(epoch, position):
            if self.batch_size is None:
                yield index
                continue
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch:
            yield batch
        if (self.epoch, self.position) == (epoch, position):
            self.epoch, self.position = epoch + 1, 0

    # --- where

    def state_dict(self, batches=None, batch_size=None):
        """A few numbers to resume from.

        batches: how many this rank's loop has received since the iteration began. A DataLoader with workers
        asks for indices ahead of that, so only the loop knows. None: where the next iteration begins.
        batch_size: the DataLoader's, where the sampler yields indices.
        """
        epoch, position = self.epoch, self.position
        if batches is not None:
            size = self.batch_size or batch_size
            if not size:
                raise ValueError("how large are the batches? say batch_size")
            (epoch, begin), mine = self._at, self._mine(self._at[1])
            position = begin + min(batches * size, mine) * self.world
            if batches * size >= mine:
                epoch, position = epoch + 1, 0
        return {"format": STATE, "seed": self.seed, "epoch": epoch, "position": position, "length": self.length,
                "digest": self.digest}

    def load_state_dict(self, state):
        """Of any number of ranks. Refuses what belongs to other data."""
        self.position = 0
        self._follow()
        if state["format"] != STATE:
            raise ValueError(f"a sampler's state of format {state['format']}, expected {STATE}")
        if (state["length"], state["digest"]) != (self.length, self.digest):
            raise ValueError(f"the state is of {state['length']} samples of {state['digest']}, the data set is"
                             f" {self.length} samples of {self.digest}: open the version that it was made with")
        self.seed, self.epoch, self.position = state["seed"], state["epoch"], state["position"]
