# SPDX-License-Identifier: MIT
"""Prints the SHA-256 of a volume without what its publishers remember of their sources.

usage: without_source.py VOLUME

A version that was published without --uuid has a source section: inode numbers and times of change, which differ from
machine to machine. That section, the sums over it in each catalogue and the sums over these in the superblock ring
count as zeros. All else counts as it is, also what no version uses any more. Offsets are those of datasetfs-volume(5).
"""
import hashlib
import sys

SLOTS, SLOT_STEP, SLOT_SIZE = 8, 64 << 10, 4096
CATALOGUE_HEADER, VERSION_SIZE = 0x40, 0x200


def number(volume, offset, size=8):
    return int.from_bytes(volume[offset:offset + size], "little")


def mask(volume, offset, length):
    if offset + length > len(volume):
        raise ValueError(f"{length} bytes at {offset} are past the end of the volume")
    volume[offset:offset + length] = bytes(length)


def catalogue_of(volume, slot):
    """Its offset while it is whole: later changes may have overwritten that of an older slot."""
    offset, length = number(volume, slot + 0x48), number(volume, slot + 0x50)
    content = volume[offset:offset + length]
    return offset if hashlib.sha256(content).digest() == volume[slot + 0x58:slot + 0x78] else None


def main():
    with open(sys.argv[1], "rb") as file:
        volume = bytearray(file.read())
    slots = [n * SLOT_STEP for n in range(SLOTS) if volume[n * SLOT_STEP:n * SLOT_STEP + 5] == b"\x89DSFS"]
    # All of them first: masking one source section may not hide that a catalogue is whole.
    catalogues = {offset for offset in (catalogue_of(volume, slot) for slot in slots) if offset is not None}
    if not catalogues:
        sys.exit("no catalogue found")
    sources = set()
    for catalogue in catalogues:
        for n in range(number(volume, catalogue + 0x08, 4)):
            version = catalogue + CATALOGUE_HEADER + n * VERSION_SIZE
            address, length = number(volume, version + 0x168), number(volume, version + 0x170)
            if length:
                sources.add((address, length))
                mask(volume, version + 0x178, 32)
    for address, length in sources:
        mask(volume, address, length)
    for slot in slots:
        mask(volume, slot + 0x58, 32)
        mask(volume, slot + SLOT_SIZE - 8, 8)
    print(hashlib.sha256(volume).hexdigest())


main()
