# SPDX-License-Identifier: MIT
"""Publishes the rows of a dataset in HDF5: encoded files as they are, arrays as .npy, in folders of their labels, which
are another dataset. Needs python3-h5py."""
import argparse
import io
import os
import sys

import h5py
import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import datasetfs  # noqa: E402


def as_file(rows, row, suffix):
    """The suffix and contents of a row: bytes of any length are a file, everything else is an array."""
    if isinstance(row, (bytes, numpy.void)) or h5py.check_vlen_dtype(rows.dtype) == numpy.uint8:
        return suffix, bytes(row) if isinstance(row, bytes) else row.tobytes()
    array = io.BytesIO()
    numpy.save(array, row, allow_pickle=False)
    return ".npy", array.getvalue()


def folder_of(labels, number):
    if labels is None:
        return ""
    label = labels[number]
    return f"{label.decode() if isinstance(label, bytes) else label}/"


def add_all(publisher, rows, labels, suffix):
    if labels is not None and len(labels) != len(rows):
        raise ValueError(f"{len(labels)} labels of {len(rows)} rows")
    for number, row in enumerate(rows):
        ending, contents = as_file(rows, row, suffix)
        if not contents:
            raise ValueError(f"row {number} is empty")
        publisher.add(f"{folder_of(labels, number)}{number:09d}{ending}", contents)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("volume")
    parser.add_argument("file")
    parser.add_argument("rows", help="the dataset, as images or train/images")
    parser.add_argument("labels", nargs="?", help="a dataset with as many numbers or texts")
    parser.add_argument("--suffix", default="", help="of names of encoded files, as .jpg")
    parser.add_argument("--label", help="of the version")
    arguments = parser.parse_args()
    try:
        with (h5py.File(arguments.file) as file,
              datasetfs.Publisher(arguments.volume, label=arguments.label, order="random") as publisher):
            add_all(publisher, file[arguments.rows], file[arguments.labels] if arguments.labels else None,
                    arguments.suffix)
    except (datasetfs.CommandError, KeyError, OSError, ValueError) as error:
        sys.exit(f"from_hdf5: '{arguments.file}': {error}")
    print(f"version '{publisher.version.label}': {publisher.version.files} files, {publisher.version.digest}")


if __name__ == "__main__":
    main()
