# SPDX-License-Identifier: MIT
"""Where the groups of a volume of several members lie, and flips of bytes in them.

rows MEMBER…                     lines "group column member offset bytes" of columns, of the newest catalogue
flip SEED COUNT ONLY MEMBER…     flips a bit of COUNT bytes of the columns of the member numbered ONLY; prints which
sweep SEED ONLY MEMBER…          flips a bit in each block of them
copies NUMBER OFFSET MEMBER…     lines "file offset": the copies of the byte at this place of member NUMBER
same A B                         whether the columns of two sets of files, A/* and B/*, are the same
places                           sums up the places of 'scrub --json' on stdin: "member offset length what state"
"""
import json
import os
import random
import struct
import sys


def superblock(path):
    """Sequence, place of the catalogue and number of the newest slot."""
    best = (0, 0, 0, 0)
    with open(path, "rb") as file:
        for slot in range(8):
            file.seek(slot << 16)
            raw = file.read(4096)
            if raw[:8] == b"\x89DSFS\r\n\x1a":
                sequence, = struct.unpack_from("<Q", raw, 0x30)
                number, = struct.unpack_from("<I", raw, 0x40)
                address, length = struct.unpack_from("<QQ", raw, 0x48)
                best = max(best, (sequence, address & (1 << 56) - 1, length, number))
    return best


def groups(paths):
    """Of each group its columns, as (member, offset), and their tail."""
    newest = max(paths, key=superblock)
    _, offset, length, _ = superblock(newest)
    with open(newest, "rb") as file:
        file.seek(offset)
        raw = file.read(length)
    versions, extents = struct.unpack_from("<II", raw, 8)
    at = 64 + versions * 512 + extents * 16
    members, group_count, _, _ = struct.unpack_from("<4I", raw, at)
    table = at + 64 + members * 512
    columns = table + group_count * 32
    for number in range(group_count):
        _, tail, first, _, data, redundant = struct.unpack_from("<QIIBBB", raw, table + number * 32)
        found = struct.unpack_from(f"<{data + redundant}Q", raw, columns + first * 8)
        yield [(address >> 56, address & (1 << 56) - 1) for address in found], tail


def spans_of(only, paths):
    return [(offset, tail) for columns, tail in groups(paths) for member, offset in columns if member == only]


def spoil(chance, only, places, paths):
    number = {superblock(path)[3]: path for path in paths}
    with open(number[only], "r+b") as file:
        for place in sorted(places):
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 1 << chance.randrange(8)]))
            print(only, place)


def flip(seed, count, only, paths):
    spans = spans_of(only, paths)
    chance = random.Random(seed)
    places = set()
    while len(places) < count:
        at = chance.randrange(sum(tail for _, tail in spans))
        for offset, tail in spans:
            if at < tail:
                places.add(offset + at)
                break
            at -= tail
    spoil(chance, only, places, paths)


def sweep(seed, only, paths):
    chance = random.Random(seed)
    places = [block + chance.randrange(4096) for offset, tail in spans_of(only, paths)
              for block in range(offset, offset + tail, 4096)]
    spoil(chance, only, places, paths)


def copies(only, place, paths):
    number = {superblock(path)[3]: path for path in paths}
    for columns, tail in groups(paths):
        start = next((offset for member, offset in columns if member == only and offset <= place < offset + tail), None)
        if start is not None:
            for member, offset in columns:
                print(number[member], offset + place - start)


def columns_of(folder):
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    number = {superblock(path)[3]: path for path in paths}
    for columns, tail in groups(paths):
        for member, offset in columns:
            with open(number[member], "rb") as file:
                file.seek(offset)
                yield member, offset, file.read(tail)


def main(verb, *words):
    if verb == "rows":
        for number, (columns, tail) in enumerate(groups(words)):
            for column, (member, offset) in enumerate(columns):
                print(number, column, member, offset, tail)
    elif verb == "flip":
        flip(int(words[0]), int(words[1]), int(words[2]), words[3:])
    elif verb == "sweep":
        sweep(int(words[0]), int(words[1]), words[2:])
    elif verb == "copies":
        copies(int(words[0]), int(words[1]), words[2:])
    elif verb == "same":
        for one, other in zip(columns_of(words[0]), columns_of(words[1]), strict=True):
            if one != other:
                sys.exit(f"member {one[0]}: the column at {one[1]} is another one")
    else:
        for place in json.load(sys.stdin)["places"]:
            print(place["member"], place["offset"], place["length"], place["what"].replace(" ", "_"), place["state"])


main(*sys.argv[1:])
