# SPDX-License-Identifier: MIT
"""Publishes shards of WebDataset: a folder for each class, which a .cls or a field of a .json names; without classes a
folder for each sample."""
import argparse
import json
import os
import re
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import datasetfs  # noqa: E402

SAMPLE_FILE = re.compile(r"((?:.*/)?[^./][^./]*)\.([^/]+)")  # WebDataset's: the key of a sample, and the kind of a file


def samples(shard):
    """(key, {kind: contents}) of files that follow each other with one key."""
    key, files = None, {}
    with tarfile.open(shard, "r|*") as archive:
        for member in archive:
            match = SAMPLE_FILE.fullmatch(member.name) if member.isfile() else None
            if not match:
                continue
            if match[1] != key and files:
                yield key, files
                files = {}
            key, kind = match[1], match[2].lower()
            if kind in files:
                raise ValueError(f"sample '{key}' has two files '.{kind}'")
            files[kind] = archive.extractfile(member).read()
    if files:
        yield key, files


def class_of(files, field):
    """The folder's name, or None."""
    if field is None:
        found = files.pop("cls", b"").decode()
    else:
        found = str(json.loads(files["json"])[field])
    if found and (found in (".", "..") or not re.fullmatch(r"[^/\0]+", found.strip())):
        raise ValueError(f"no name of a class: {found!r}")
    return found.strip() or None


def add(publisher, shard, key, files, arguments):
    """Shards may count from 0 each, so names of files have that of the shard."""
    folder = class_of(files, arguments.field)
    if folder is None and arguments.classes:
        raise ValueError("no '.cls', which other samples have")
    arguments.classes = folder is not None
    name = "-".join([os.path.basename(shard).split(".")[0], *key.split("/")])
    for kind, contents in files.items():
        publisher.add(f"{folder}/{name}.{kind}" if folder else f"{name}/sample.{kind}", contents)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("volume")
    parser.add_argument("shards", nargs="+")
    parser.add_argument("--label", help="of the version")
    parser.add_argument("--field", help="of each sample's .json, which names its class")
    arguments = parser.parse_args()
    arguments.classes = None  # whether samples have classes
    shard = key = None  # where a failure is
    try:
        with datasetfs.Publisher(arguments.volume, label=arguments.label, order="random") as publisher:
            for shard in arguments.shards:
                key = None
                for key, files in samples(shard):
                    add(publisher, shard, key, files, arguments)
    except datasetfs.CommandError as error:
        sys.exit(f"from_webdataset: {error}")
    except (KeyError, OSError, ValueError, tarfile.TarError) as error:
        sys.exit(f"from_webdataset: '{shard}': {f'sample {key!r}: ' if key else ''}{error}")
    print(f"version '{publisher.version.label}': {publisher.version.files} files, {publisher.version.digest}")


if __name__ == "__main__":
    main()
