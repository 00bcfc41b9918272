#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes two files with one XXH3-64, of the whole and of each 4 KiB.

In a block of 1 KiB, XXH3 adds up stripes of 64 bytes. Where the lower half of a word is that of the secret, the
product is 0 and only the word itself is added: what the upper half of one such word gains, another one may lose.

usage: collision.py ONE OTHER SIZE [AT]: of SIZE random bytes; AT: a multiple of 4096 where they differ
"""
import random
import struct
import sys

SECRET = bytes.fromhex("b8fe6c3923a44bbe7c01812cf721ad1c")  # the first words of XXH3's default secret


def make_pair(size, at):
    one = bytearray(random.Random(size).randbytes(size))
    one[at:at + 4], one[at + 64:at + 68] = SECRET[:4], SECRET[8:12]
    other = bytearray(one)
    for offset, gain in ((at + 4, 1), (at + 68, -1)):
        struct.pack_into("<I", other, offset, (struct.unpack_from("<I", one, offset)[0] + gain) % 2**32)
    return one, other


def main():
    size, at = int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 0
    for name, content in zip(sys.argv[1:3], make_pair(size, at)):
        with open(name, "wb") as file:
            file.write(content)


main()
