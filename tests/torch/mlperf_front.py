#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A stand-in for mlpstorage, the front end of MLPerf Storage: the same checks of its folders, by the same system calls,
and in place of DLIO a loop that reads the files.

usage: mlpstorage DIVISION training MODEL datagen|run file --data-dir DIR --results-dir DIR
"""
import argparse
import errno
import json
import os
import pathlib
import sys

MANIFEST = ".mlps-datagen-manifest.json"
PROBE = ".mlpstorage-fs-sep-probe-1"
FILES = 40


def parse():
    parser = argparse.ArgumentParser()
    for name in ("division", "benchmark", "model", "command", "protocol"):
        parser.add_argument(name)
    parser.add_argument("--data-dir", type=pathlib.Path, required=True)
    parser.add_argument("--results-dir", type=pathlib.Path, required=True)
    return parser.parse_args()


def datagen(folder):
    for part in ("train", "valid"):
        (folder / part).mkdir(parents=True)
    sizes = [1000 + 777 * number for number in range(FILES)]
    for number, size in enumerate(sizes):
        (folder / f"train/img_{number:02d}_of_{FILES}.jpeg").write_bytes(number.to_bytes(1, "big") * size)
    (folder / MANIFEST).write_text(json.dumps({"num_files_train": FILES, "bytes": sum(sizes)}))


def check_space(folder, needed):
    found = os.statvfs(folder)
    free = found.f_bavail * found.f_frsize
    if free < needed:
        sys.exit(f"mlpstorage: insufficient disk space at {folder}: {free}, expected {needed}")


def check_separation(data, results):
    """The results are to lie on another filesystem, so that a link between the two must not be possible."""
    descriptor = os.open(data / PROBE, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    os.close(descriptor)
    try:
        os.link(data / PROBE, results / PROBE)
        sys.exit(f"mlpstorage: {data} and {results} are one filesystem")
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    finally:
        os.unlink(data / PROBE)


def run(folder, data, results):
    for part in ("train", "valid", "test"):
        if not (folder / part).exists():
            (folder / part).mkdir()
    manifest = json.loads((folder / MANIFEST).read_text())
    check_space(data, manifest["bytes"])
    check_separation(data, results)
    contents = [path.read_bytes() for path in sorted((folder / "train").iterdir())]
    if (len(contents), sum(map(len, contents))) != (manifest["num_files_train"], manifest["bytes"]):
        sys.exit(f"mlpstorage: {len(contents)} files, expected {manifest}")
    print(f"read {len(contents)} files")


def main():
    options = parse()
    options.results_dir.mkdir(exist_ok=True)
    folder = options.data_dir / options.model
    if options.command == "datagen":
        datagen(folder)
    else:
        run(folder, options.data_dir, options.results_dir)


try:
    main()
except OSError as error:
    sys.exit(f"mlpstorage: {error.strerror}: '{error.filename}'")
