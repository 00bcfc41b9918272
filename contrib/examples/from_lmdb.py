# SPDX-License-Identifier: MIT
"""Publishes an LMDB of encoded files: each key is a file, in the folder of its class if lines 'KEY CLASS' say that.
Needs python3-lmdb."""
import argparse
import os
import sys

import lmdb

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import datasetfs  # noqa: E402


def classes_in(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return dict(line.rstrip("\n").rsplit(" ", 1) for line in file)


def add_all(publisher, database, suffix, classes):
    with database.begin(buffers=True) as transaction:
        for key, value in transaction.cursor():
            name = os.fsdecode(bytes(key))
            if classes is not None:
                if name not in classes:
                    raise ValueError(f"key '{name}' has no class")
                name = f"{classes[name]}/{name}"
            publisher.add(name + suffix, value)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("volume")
    parser.add_argument("lmdb", help="a folder or a file")
    parser.add_argument("--suffix", default="", help="of names of files, as .jpg")
    parser.add_argument("--classes", help="a file of lines 'KEY CLASS'")
    parser.add_argument("--label", help="of the version")
    arguments = parser.parse_args()
    try:
        classes = classes_in(arguments.classes) if arguments.classes else None
        with (lmdb.open(arguments.lmdb, subdir=os.path.isdir(arguments.lmdb), readonly=True, lock=False) as database,
              datasetfs.Publisher(arguments.volume, label=arguments.label, order="random") as publisher):
            add_all(publisher, database, arguments.suffix, classes)
    except (datasetfs.CommandError, OSError, ValueError, lmdb.Error) as error:
        sys.exit(f"from_lmdb: '{arguments.lmdb}': {error}")
    print(f"version '{publisher.version.label}': {publisher.version.files} files, {publisher.version.digest}")


if __name__ == "__main__":
    main()
