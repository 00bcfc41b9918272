# SPDX-License-Identifier: MIT
"""In which order the files of a data set lie on the volume, without a list of them."""
import hashlib
from array import array

from .selection import Selection

AT_ONCE = 1 << 16  # files whose places are looked at in one call


class Places:
    """From a file's number in the order of places to its index. Where the version lies in the order of its tree, or
    where a file is several samples, these are the same.

    A part of a version takes 3 bits for each file of the version, and a look at all of them when it is first used.
    """

    def __init__(self, reader, files):
        if reader.info.order is None:
            raise ValueError("shuffle='blocks' needs to know how files lie on the volume, and this is read through the"
                             f" mount: {reader.info.why}")
        self._find = files.finder() if reader.info.order == "random" else None
        self._chosen = None
        if self._find and len(files) < reader.info.files:
            self._chosen = self._choose(reader)

    def _choose(self, reader):
        """The numbers of places that belong to the data set."""
        chosen, begin = Selection(), reader.first_id
        for first in range(0, reader.info.files, AT_ONCE):
            bits = bytearray(AT_ONCE // 8)
            for number, place in enumerate(self._find(reader.placed(first, AT_ONCE), begin)):
                if place is not None:
                    bits[number >> 3] |= 1 << (number & 7)
            chosen.add_bits(first, bits)
        return chosen

    def name(self, reader):
        """The same for the same order: volumes with the same digest may have different ones."""
        if self._find is None:
            return "tree"
        digest = hashlib.sha256()
        for first in range(0, reader.info.files, AT_ONCE):
            ids = bytearray(array("Q", reader.placed(first, AT_ONCE)))
            for byte in (5, 6, 7):  # which version of the volume it is
                ids[byte::8] = bytes(len(ids) // 8)
            digest.update(ids)
        return "random:" + digest.hexdigest()[:16]

    def indices(self, reader, samples):
        """samples: in any order."""
        samples = list(samples)
        if self._find is None:
            return samples
        numbers = samples if self._chosen is None else [self._chosen[sample] for sample in samples]
        return self._find(reader.at_places(numbers), reader.first_id)
