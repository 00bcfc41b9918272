# SPDX-License-Identifier: MIT
"""Which files a data set has, in which order, without a list of them: runs of consecutive ids, and 64 bits for 64 ids
where only some of them belong to it."""
from array import array
from bisect import bisect_right

FULL = (1 << 64) - 1


def nth_bit(word, n):
    """The place of the nth bit, from 0 on, that is set."""
    place = 0
    for width in (32, 16, 8, 4, 2, 1):
        low = (word >> place & (1 << width) - 1).bit_count()
        if n >= low:
            n -= low
            place += width
    return place


class Selection:
    """A sequence of ids. Arrays of numbers, so that forked processes never write to the pages that they share."""

    def __init__(self):
        self.first, self.before, self.mask = array("Q"), array("Q"), array("Q")  # a piece: mask 0 is a run
        self.count = 0

    def __len__(self):
        return self.count

    def __getitem__(self, place):
        piece = bisect_right(self.before, place) - 1
        place -= self.before[piece]
        mask = self.mask[piece]
        return self.first[piece] + (nth_bit(mask, place) if mask else place)

    def finder(self):
        """A call that lists the places of ids from which a number is taken first, None for one that has none; itself
        None where an id has several. It is called for every file of an epoch, and so calls nothing of its own."""
        order = sorted(range(len(self.first)), key=self.first.__getitem__)
        firsts, pieces = array("Q", (self.first[piece] for piece in order)), array("Q", order)
        if any(self._last(before) >= self.first[after] for before, after in zip(order, order[1:])):
            return None
        before, masks = self.before, self.mask

        def places(ids, less):
            for number in ids:
                here = bisect_right(firsts, number - less) - 1
                if here < 0:
                    yield None
                    continue
                piece, offset = pieces[here], number - less - firsts[here]
                if masks[piece]:
                    held = masks[piece] >> offset & 1
                    yield before[piece] + (masks[piece] & (1 << offset) - 1).bit_count() if held else None
                else:
                    end = before[piece + 1] if piece + 1 < len(before) else self.count
                    yield before[piece] + offset if before[piece] + offset < end else None
        return lambda ids, less: list(places(ids, less))

    def _count(self, piece):
        return (self.before[piece + 1] if piece + 1 < len(self.before) else self.count) - self.before[piece]

    def _last(self, piece):
        mask = self.mask[piece]
        return self.first[piece] + (mask.bit_length() if mask else self._count(piece)) - 1

    def holds(self, number):
        """Of a selection whose ids increase."""
        piece = bisect_right(self.first, number) - 1
        if piece < 0:
            return False
        end = self.before[piece + 1] if piece + 1 < len(self.before) else self.count
        place, mask = number - self.first[piece], self.mask[piece]
        return bool(mask >> place & 1) if mask else place < end - self.before[piece]

    def _run_end(self):
        """The id behind the last piece, if that is a run."""
        if not self.first or self.mask[-1]:
            return None
        return self.first[-1] + self.count - self.before[-1]

    def _append(self, first, mask, count):
        self.first.append(first)
        self.before.append(self.count)
        self.mask.append(mask)
        self.count += count

    def add_run(self, first, count):
        if not count:
            return
        if self._run_end() == first:
            self.count += count
        else:
            self._append(first, 0, count)

    def add_bits(self, first, bits):
        """bits: a multiple of 8 bytes; bit 0 of the first byte is the id first."""
        for number, word in enumerate(memoryview(bits).cast("Q")):
            here = first + 64 * number
            if word & word + 1 == 0:  # ones, then zeros
                self.add_run(here, word.bit_count())
            elif word:
                self._append(here, word, word.bit_count())
