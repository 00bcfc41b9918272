# SPDX-License-Identifier: MIT
"""Publishes versions into the space of removed and moved ones, with a mount that has a cache and readers that go on:
each file that they read must be whole, and of the version that is served.

    cache_reused.py MOUNT VOLUME SOURCE ROUNDS SEED
"""
import hashlib
import json
import os
import random
import subprocess
import sys
import threading

MOUNT, VOLUME, SOURCE = sys.argv[1:4]
ROUNDS, SEED = map(int, sys.argv[4:])
FILES, CHANGED, READERS = 120, 30, 3
NAMES = [str(number) for number in range(FILES)]


def content(name, version, dice):
    """Bytes that say what they are, behind their own sum."""
    body = f"{name} {version}\n".encode() + dice.randbytes(dice.randrange(4000, 12000))
    return hashlib.sha256(body).digest() + body


def parse(data):
    """(name, version) of a file's bytes; None: they are wrong."""
    body = data[32:]
    if hashlib.sha256(body).digest() != data[:32]:
        return None
    name, version = body[:body.index(b"\n")].split()
    return name.decode(), int(version)


def read(path):
    """All bytes of a file, with no trace in the page cache."""
    end = os.open(path, os.O_RDONLY)
    try:
        data = os.read(end, 1 << 20)
        os.posix_fadvise(end, 0, 0, os.POSIX_FADV_DONTNEED)
        return data
    finally:
        os.close(end)


class Reader(threading.Thread):
    """Reads one file after the other until it is told to stop."""

    def __init__(self, state, number):
        super().__init__(daemon=True)
        self.state, self.dice = state, random.Random(SEED * 100 + number)
        self.done = 0

    def run(self):
        while not self.state.over:
            self.read_one(self.dice.choice(NAMES))
            self.done += 1

    def read_one(self, name):
        least = self.state.least[name]
        try:
            found = parse(read(os.path.join(MOUNT, name)))
        except OSError as error:
            self.state.fail(f"{name}: {error}")
            return
        most = self.state.most[name]
        if not found or found[0] != name or not least <= found[1] <= most:
            self.state.fail(f"{name}: {found}, expected of the versions {least} to {most}")


class State:
    def __init__(self):
        self.least = dict.fromkeys(NAMES, 1)  # in which version the file was written that is served
        self.most = dict.fromkeys(NAMES, 1)   # and the one that may be
        self.over, self.failures = False, []
        self.readers = [Reader(self, number) for number in range(READERS)]
        self.moved = 0

    def fail(self, text):
        self.failures.append(text)
        self.over = True

    def settle(self):
        """Until each reader has read a file that it opened since."""
        for reader in self.readers:
            until = reader.done + 2
            while reader.done < until and not self.over:
                reader.join(0.001)


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"fail: {' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def write(names, version, dice):
    for name in names:
        with open(os.path.join(SOURCE, name), "wb") as file:
            file.write(content(name, version, dice))


def go_round(state, version, dice):
    names = dice.sample(NAMES, CHANGED)
    write(names, version, dice)
    state.most.update(dict.fromkeys(names, version))
    run("mkdatasetfs", "--progress", "none", "--label", f"v{version}", VOLUME, SOURCE)
    run("datasetfsctl", "switch", MOUNT, f"v{version}")
    state.least.update(dict.fromkeys(names, version))
    state.settle()
    run("datasetfsctl", "remove", VOLUME, f"v{version - 1}")
    state.moved += json.loads(run("datasetfsctl", "compact", "--json", "--force", VOLUME))["moved_bytes"]
    run("datasetfsctl", "switch", MOUNT, f"v{version}")  # where it was moved to
    state.settle()


def main():
    state, dice = State(), random.Random(SEED)
    for reader in state.readers:
        reader.start()
    for version in range(2, ROUNDS + 2):
        go_round(state, version, dice)
        if state.over:
            break
    state.over = True
    for reader in state.readers:
        reader.join()
    if state.failures:
        sys.exit(f"fail: {'; '.join(state.failures[:5])}")
    done = sum(reader.done for reader in state.readers)
    print(f"{version - 1} rounds, {done} files read, {state.moved} bytes moved, {os.path.getsize(VOLUME)} in all")
    assert state.moved > 0, "nothing was moved"


if __name__ == "__main__":
    if MOUNT == "-":  # only makes the first version's files
        write(NAMES, 1, random.Random(SEED))
    else:
        main()
