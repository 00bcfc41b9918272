# SPDX-License-Identifier: MIT
"""A batch of files as one tensor of bytes, which a DataLoader's workers hand over without copying it through a pipe."""
import array
import itertools
from multiprocessing.reduction import ForkingPickler

from . import handover

BYTES = (bytes, bytearray, memoryview)


class Contents:
    """What the files of a batch hold, one behind the other.

    values: a tensor of all bytes; offsets: a tensor with the place in it where each file begins, and where the last
    one ends, as torch.nested.nested_tensor_from_jagged() takes them. An element, and what comes by iteration, is a
    tensor of one file's bytes in the same memory.
    """

    def __init__(self, values, sizes, loan=None):
        self.values, self.sizes, self._loan = values, sizes, loan

    @classmethod
    def of(cls, files):
        """Copies bytes or views of them; in a worker into memory that the process with the loop sees."""
        import torch

        sizes = array.array("q", map(len, files))
        loan = handover.lend(sum(sizes)) if any(sizes) and torch.utils.data.get_worker_info() else None
        if not loan:
            joined = bytearray().join(files)
            return cls(torch.frombuffer(joined, dtype=torch.uint8) if joined else torch.ByteTensor(), sizes)
        contents = cls(loan.slab.tensor(sum(sizes), loan.done), sizes, loan)
        _fill(memoryview(loan.slab.memory)[handover.HEAD:], files, sizes)
        return contents

    def __reduce__(self):
        return Contents, (self.values, self.sizes)

    @property
    def offsets(self):
        import torch

        return torch.tensor(list(itertools.accumulate(self.sizes, initial=0)), device=self.values.device)

    def __len__(self):
        return len(self.sizes)

    def __getitem__(self, number):
        number = range(len(self))[number]
        begin = sum(self.sizes[:number])
        return self.values[begin:begin + self.sizes[number]]

    def __iter__(self):
        return iter(self.values.split(list(self.sizes)) if self.sizes else ())

    def pin_memory(self):
        """For a DataLoader with pin_memory=True."""
        return Contents(self.values.pin_memory(), self.sizes)

    def to(self, *where, **how):
        """As Tensor.to(): one copy for all files."""
        return Contents(self.values.to(*where, **how), self.sizes)


def _fill(room, files, sizes):
    begin = 0
    for file, size in zip(files, sizes):
        room[begin:begin + size] = file
        begin += size


def _received(where, room, sizes):
    return Contents(handover.get(where, room, sum(sizes)), sizes)


def _for_process(contents):
    """How it goes to another process; pickled for anything else, it holds its bytes."""
    loan = contents._loan and contents._loan.hand_over()
    return (_received, (*loan, contents.sizes)) if loan else contents.__reduce__()


ForkingPickler.register(Contents, _for_process)


def collate_bytes(batch):
    """A collate_fn: Contents of a batch of bytes or memoryviews; of samples that are tuples a list, as PyTorch's own
    default_collate() makes it, which gets everything else."""
    if isinstance(batch[0], BYTES):
        return Contents.of(batch)
    if isinstance(batch[0], tuple):
        return [collate_bytes(column) for column in zip(*batch)]
    from torch.utils.data import default_collate

    return default_collate(batch)
