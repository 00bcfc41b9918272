#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Readers for ahead.sh: ahead.py ORDER SOURCE MOUNT [ARGUMENT]. All compare what they read with SOURCE.

walk         every file in the order of the tree, N times (ARGUMENT); damaged files of BAD may give EIO
shuffle      every file once, in an order of that SEED
broken       the first ARGUMENT files in order, all others backwards
"""
import errno
import os
import random
import sys


def files(top):
    """Paths below top in the order of the tree, listed folder by folder."""
    for entry in sorted(os.scandir(top), key=lambda entry: os.fsencode(entry.name)):
        if entry.is_dir(follow_symlinks=False):
            yield from (os.path.join(entry.name, path) for path in files(entry.path))
        elif entry.is_file(follow_symlinks=False):
            yield entry.name


def ordered(order, paths, argument):
    if order == "shuffle":
        random.Random(argument).shuffle(paths)
    elif order == "broken":
        paths = paths[:argument] + paths[:argument - 1:-1]
    elif order == "walk":
        paths = paths * argument
    else:
        sys.exit(f"fail: no order '{order}'")
    return paths


def main():
    order, source, mount = sys.argv[1:4]
    bad = os.environ.get("BAD", "").split()
    for path in ordered(order, list(files(mount if order == "walk" else source)), int(sys.argv[4])):
        with open(os.path.join(source, path), "rb") as file:
            expected = file.read()
        try:
            fd = os.open(os.path.join(mount, path), os.O_RDONLY)
            found = b"".join(iter(lambda: os.read(fd, 1 << 20), b""))
            os.close(fd)
        except OSError as error:
            if error.errno != errno.EIO or path not in bad:
                sys.exit(f"fail: '{path}': {error}")
            bad.remove(path)
            continue
        if found != expected:
            sys.exit(f"fail: '{path}' has {len(found)} bytes, expected {len(expected)}, or others")
    if bad:
        sys.exit(f"fail: {bad} could be read, expected EIO")


main()
