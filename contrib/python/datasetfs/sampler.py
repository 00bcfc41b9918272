# SPDX-License-Identifier: MIT
"""Shuffled indices without a list of them: a state of a few numbers, and resuming in the middle of an epoch with
another number of ranks. Each by its own, or in blocks of files that lie side by side, which are read at once."""
import collections
import math
import sys
import warnings

from .shuffle import Deal, Order

STATE, STATE_BLOCKS = 1, 2  # what a state's other fields mean, and how a seed makes an order
AT_ONCE = 1024  # indices that one call of the library computes
BLOCK, BUFFER = 128, 32  # samples of a block where sizes are not known, and blocks of a buffer
BLOCK_BYTES, BLOCK_MOST = 2 << 20, 1024  # of a block, and samples at most
CLASS_BLOCKS = 8  # of a class in all buffers, where a block is of one class; with one a network learns little

# Where a batch is in an epoch: enough for whoever reads it to know which files come next. See Order for the first five.
Recipe = collections.namedtuple("Recipe", "key count block buffer dealt deal rank digest")


class Batch(list):
    """Indices, the recipe of their epoch, and the number of the batch in it."""

    def __init__(self, indices=(), recipe=None, number=0):
        super().__init__(indices)
        self.recipe, self.number = recipe, number


class Woven:
    """Of each world samples in a row of the order every rank gets one, so where the ranks stand is one number."""

    def __init__(self, sampler, epoch, position):
        self.epoch, self.position, self.length = epoch, position, sampler.length
        self.rank, self.world, self.batch_size = sampler.rank, sampler.world, sampler.batch_size
        left = max(self.length - position, 0)
        if sampler.drop_last:
            step = self.batch_size or 1
            self.mine = left // (self.world * step) * step
        else:
            self.mine = -(-left // self.world)
        self.key = f"{sampler.seed} {epoch}" if sampler.shuffle else None

    def __len__(self):
        return self.mine if self.batch_size is None else -(-self.mine // self.batch_size)

    def _indices(self):
        order = Order(self.key, self.length) if self.key else None
        for number in range(0, self.mine, AT_ONCE):
            first, count = self.position + self.rank + number * self.world, min(AT_ONCE, self.mine - number)
            if order:
                yield from order.at(first, self.world, count)
            else:
                yield from (place % self.length for place in range(first, first + count * self.world, self.world))

    def __iter__(self):
        if self.batch_size is None:
            yield from self._indices()
            return
        batch = []
        for index in self._indices():
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch:
            yield batch

    def after(self, batches, batch_size):
        """Where the epoch stands when every rank's loop has had so many batches; None: at its end."""
        size = self.batch_size or batch_size
        if not size:
            raise ValueError("how large are the batches? say batch_size")
        return None if batches * size >= self.mine else self.position + batches * size * self.world


class Dealt:
    """Ranks and workers get slices of an order of blocks, and mix the samples of a slice's windows."""

    def __init__(self, sampler, epoch, dealt, workers):
        deal = Deal(sampler.world, workers, sampler.batch_size, sampler.drop_last)
        self.recipe = Recipe(f"{sampler.seed} {epoch}", sampler.length, sampler.block, sampler.buffer, dealt, deal,
                             sampler.rank, sampler.digest)
        self.order = Order(*self.recipe[:5])
        self.epoch, self.batches, self.in_place = epoch, self.order.batches(deal), sampler.in_place

    def __len__(self):
        return self.batches

    def __iter__(self):
        for number in range(self.batches):
            samples = self.order.batch(self.recipe.deal, self.recipe.rank, number)
            yield Batch(self.in_place(samples), self.recipe, number)

    def after(self, batches, _):
        if batches >= self.batches:
            return None
        return self.recipe.dealt + ((self.recipe.deal, batches),) if batches else self.recipe.dealt


def workers_of_caller():
    """num_workers of the DataLoader that asks for a batch, of which it tells a sampler nothing: its iterator is among
    the callers. 1: there is none. Other callers are not looked at, as a frame then keeps what its variables had."""
    frame = sys._getframe(1)
    while frame:
        if frame.f_code.co_name == "_next_index":  # of _BaseDataLoaderIter
            return max(getattr(frame.f_locals.get("self"), "_num_workers", 1), 1)
        frame = frame.f_back
    return 1


class Sampler:
    """What one rank reads, in a random order that depends on seed and epoch alone.

    data: a DataSet, or a number of samples. shuffle=True: each sample at random. shuffle=False: 0, 1, 2 ….
    shuffle="blocks": block files that lie side by side on the volume stay together, blocks come at random, and samples
    of as many of them as make buffer samples are mixed. Then a DataSet in a DataLoader reads a block with a few reads
    of the device. By default a block has 1 to 2 MiB, and a buffer 32 blocks; a worker has two buffers in memory.
    batch_size=None: yields indices, for DataLoader(…, batch_size=B, sampler=sampler). batch_size=B: yields lists of
    them, for DataLoader(…, batch_sampler=sampler); blocks need that.
    drop_last: leaves out what does not make a whole sample (or batch) for every rank; otherwise the order is continued
    from its beginning, so that every rank gets equally many, and the last batch may be short.
    workers: of the DataLoader, for blocks; None: as many as the one has that asks for the first batch.

    At the end of an epoch it goes to the next by itself; set_epoch() is for those who count themselves. When the data
    set was refreshed between two epochs, the next is one of the new version.
    """

    def __init__(self, data, seed=0, rank=0, world=1, batch_size=None, drop_last=False, shuffle=True, block=None,
                 buffer=None, workers=None):
        self._data = None if isinstance(data, int) else data
        self.length, self.digest = (data, None) if isinstance(data, int) else self._now()
        if not 0 <= rank < world:
            raise ValueError(f"rank {rank}, expected 0 … {world - 1}")
        if batch_size is not None and batch_size < 1:
            raise ValueError(f"batch_size {batch_size}, expected at least 1")
        self.seed, self.rank, self.world = seed, rank, world
        self.batch_size, self.drop_last, self.shuffle = batch_size, drop_last, shuffle
        self._wish, self.workers = (block, buffer), workers
        self._check_blocks()
        self._size_blocks()
        self.epoch, self._begun = 0, None  # where the next iteration begins; what the last one went through
        self.position, self.dealt = 0, ()  # in the epoch: samples of all ranks; of blocks, the interruptions so far
        self._is_warned = False

    def _check_blocks(self):
        if self.shuffle not in (True, False, "blocks"):
            raise ValueError(f"shuffle={self.shuffle!r}, expected True, False or 'blocks'")
        given = {"block": self._wish[0], "buffer": self._wish[1], "workers": self.workers}
        for name, value in given.items():
            if value is not None and self.shuffle != "blocks":
                raise ValueError(f"{name}={value} needs shuffle='blocks'")
            if value is not None and value < 1:
                raise ValueError(f"{name}={value}, expected at least 1")
        if self.shuffle == "blocks" and self.batch_size is None:
            raise ValueError("shuffle='blocks' deals whole batches: say batch_size, and give the DataLoader this"
                             " sampler as batch_sampler")

    def _size_blocks(self):
        """By default as many files as make about 2 MiB: a power of two, which a few more files do not change."""
        block, buffer = self._wish
        mean = getattr(self._data, "mean_size", 0)
        fit = min(max(BLOCK_BYTES / mean, 1), BLOCK_MOST) if mean else BLOCK
        self.block = block or 1 << round(math.log2(fit))
        self.buffer = buffer or BUFFER * self.block

    @property
    def in_place(self):
        """The call that makes indices of samples, which are counted in the order of their places on the volume."""
        return getattr(self._data, "in_place", list)

    # --- which data, which epoch

    def _now(self):
        return len(self._data), getattr(self._data, "digest", None)

    def _follow(self):
        if self._data is None or self._now() == (self.length, self.digest):
            return
        if self.position or self.dealt:
            raise ValueError(f"the data set was refreshed from {self.digest} to {self._data.digest} in the middle of"
                             " an epoch; set_epoch() begins one")
        self.length, self.digest = self._now()
        self._size_blocks()

    def _begin_epoch(self, epoch):
        self.epoch, self.position, self.dealt = epoch, 0, ()

    def set_epoch(self, epoch):
        """The next iteration is this epoch's, from its beginning; or goes on in it where a state was loaded."""
        if epoch != self.epoch:
            self._begin_epoch(epoch)

    # --- which samples

    def _next(self, workers=1):
        self._follow()
        if self.shuffle == "blocks":
            return Dealt(self, self.epoch, self.dealt, self.workers or workers)
        return Woven(self, self.epoch, self.position)

    def __len__(self):
        """What the next iteration yields."""
        return len(self._next())

    def __iter__(self):
        """From position on. An iteration that is left begins there again; one that ends goes to the next epoch."""
        begun = self._begun = self._next(workers_of_caller())
        before = self.epoch, self.position, self.dealt
        self._warn(begun)
        yield from begun
        if (self.epoch, self.position, self.dealt) == before:
            self._begin_epoch(before[0] + 1)

    # --- whether that is random enough

    def _warn(self, begun):
        """Once, where a batch's classes vary twice as much as in a full shuffle, or buffers have few blocks of each."""
        if self.shuffle != "blocks" or self._is_warned or not hasattr(self._data, "label"):
            return
        alike, classes = self._likeness(), len(self._data.classes or ())
        buffers = self.world * begun.recipe.deal.workers  # batches of all of them take turns
        needed = int(1 + alike * max(self.batch_size - 1, CLASS_BLOCKS * classes / buffers) * (self.block - 1))
        share = len(begun.order) // buffers
        buffer = max(min(self.buffer, share), 1)
        if needed <= buffer:
            return
        self._is_warned = True
        warnings.warn(
            f"a block of {self.block} files has few classes, and {buffer} files are mixed at a time, in all"
            f" {buffer * buffers / self.block / classes:.1f} blocks a class: batches that follow each other have the"
            " same classes, and a network learns less. Pack with 'mkdatasetfs --order random', or say"
            f" {f'buffer={needed} or ' if needed <= share else ''}shuffle=True", RuntimeWarning, stacklevel=3)

    def _likeness(self, looks=64):
        """How alike the classes of two files of a block are: 0 as of any two files, 1 the same."""
        blocks = self.length // self.block
        if blocks < 2 or self.block < 2:
            return 0
        labels = [[self._data.label(index) for index in self.in_place([first, first + self.block - 1])]
                  for first in (blocks * look // looks * self.block for look in range(looks))]
        found = collections.Counter(label for pair in labels for label in pair)
        by_chance = sum((count / (2 * looks)) ** 2 for count in found.values())
        same = sum(first == last for first, last in labels) / looks
        return max((same - by_chance) / (1 - by_chance), 0) if by_chance < 1 else 0

    # --- which files come next, for PrefetchSampler

    @property
    def mixes_blocks(self):
        return self.shuffle == "blocks"

    def windows_of(self, batch):
        """The windows of a batch of this iteration, and the next one, as (worker, number)."""
        recipe, worker = batch.recipe, batch.number % batch.recipe.deal.workers
        numbers = self._begun.order.windows_of(recipe.deal, recipe.rank, batch.number)
        return [(worker, number) for number in (*numbers, numbers[-1] + 1)] if numbers else []

    def window(self, name):
        """Its indices, block by block; none: the worker has no such window."""
        recipe = self._begun.recipe
        return self.in_place(self._begun.order.window(recipe.deal, recipe.rank, *name))

    # --- where it stands

    def state_dict(self, batches=None, batch_size=None):
        """A few numbers to resume from.

        batches: how many this rank's loop has received since the iteration began. A DataLoader with workers
        asks for indices ahead of that, so only the loop knows. None: where the next iteration begins.
        batch_size: the DataLoader's, where the sampler yields indices.
        """
        is_blocks = self.shuffle == "blocks"
        epoch, where = self.epoch, self.dealt if is_blocks else self.position
        if batches is not None:
            begun = self._begun or self._next()
            epoch, where = begun.epoch, begun.after(batches, batch_size)
            if where is None:
                epoch, where = epoch + 1, () if is_blocks else 0
        state = {"format": STATE_BLOCKS if is_blocks else STATE, "seed": self.seed, "epoch": epoch}
        if is_blocks:
            state |= {"dealt": [[*deal, had] for deal, had in where], "block": self.block, "buffer": self.buffer,
                      "places": getattr(self._data, "places", None)}
        else:
            state["position"] = where
        return state | {"length": self.length, "digest": self.digest}

    def load_state_dict(self, state):
        """Of any number of ranks. Refuses what belongs to other data, or to another kind of shuffle."""
        self.position, self.dealt = 0, ()
        self._follow()
        expected = STATE_BLOCKS if self.shuffle == "blocks" else STATE
        if state["format"] != expected:
            raise ValueError(f"a sampler's state of format {state['format']}, expected {expected}: {STATE_BLOCKS} is of"
                             f" shuffle='blocks', {STATE} of the others")
        if (state["length"], state["digest"]) != (self.length, self.digest):
            raise ValueError(f"the state is of {state['length']} samples of {state['digest']}, the data set is"
                             f" {self.length} samples of {self.digest}: open the version that it was made with")
        places = getattr(self._data, "places", None) if expected == STATE_BLOCKS else None
        if state.get("places") != places:
            raise ValueError(f"the state is of files in the order {state['places']} on the volume, here it is {places}:"
                             " resume with the volume that it was made with, or a copy")
        self.seed, self.epoch, self.position = state["seed"], state["epoch"], state.get("position", 0)
        if expected == STATE_BLOCKS:
            self.dealt = tuple((Deal(*deal), had) for *deal, had in state["dealt"])
            self.block, self.buffer = state["block"], state["buffer"]
