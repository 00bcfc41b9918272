# SPDX-License-Identifier: MIT
"""Writes a version as WebDataset's shards, in the shuffle of a seed: each file is a sample, whose .cls is the number of
its top folder."""
import argparse
import io
import os
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import datasetfs  # noqa: E402


def add(shard, name, contents):
    info = tarfile.TarInfo(name)
    info.size = len(contents)
    shard.addfile(info, io.BytesIO(contents))


def write(data, places, first, path):
    """The next shard, of the files at these places."""
    with tarfile.open(path, "x") as shard:
        for number, (place, contents) in enumerate(zip(places, data.__getitems__(places)), first):
            kind = data.path(place).rpartition("/")[2].partition(".")[2] or "bin"
            add(shard, f"{number:09d}.{kind}", contents)
            add(shard, f"{number:09d}.cls", str(data.label(place)).encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("volume", help="or a mountpoint")
    parser.add_argument("shards", help="as in train-%%05d.tar")
    parser.add_argument("--version", help="by default the current one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--samples", type=int, default=1000, help="of a shard")
    arguments = parser.parse_args()
    data = datasetfs.DataSet(arguments.volume, version=arguments.version, transform=bytes)
    batches = datasetfs.Sampler(data, seed=arguments.seed, batch_size=arguments.samples)
    for number, places in enumerate(batches):
        write(data, places, number * arguments.samples, arguments.shards % number)
    print(f"version '{data.version}': {len(data)} samples of {len(data.classes)} classes in {len(batches)} shards")


if __name__ == "__main__":
    main()
