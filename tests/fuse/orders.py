#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The model of orders.sh: which versions there are, what is in them, and what the mount serves.
usage: orders.py SEED ROUNDS, with a volume, its source and a mount of its version r0 in the working directory."""
import errno
import hashlib
import json
import os
import random
import subprocess
import sys
import threading

NAMES = [f"f{number}" for number in range(48)]
RING = 1 << 20  # bytes of the superblock ring, in front of all data
SIZES = (20, 700, 6000, 30000, 90000, 260000)


class Wrong(Exception):
    pass


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise Wrong(f"{' '.join(words)}: status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def content_of(folder):
    return {name: open(f"{folder}/{name}", "rb").read() for name in os.listdir(folder)}


class Readers:
    """Threads that read random files of the mount and compare each with all that was ever published under its name."""

    def __init__(self):
        self.allowed = {name: set() for name in NAMES}
        self.stale = False  # the mount's version is not on the volume
        self.staled = 0  # how often that has begun: a reader may meet both its beginning and its end
        self.ending = False
        self.reads = self.refused = 0
        self.wrong = None
        self.threads = [threading.Thread(target=self.main, args=(number,)) for number in range(3)]

    def allow(self, content):
        for name, data in content.items():
            self.allowed[name].add(hashlib.sha256(data).digest())

    def begin_stale(self):
        self.staled += 1
        self.stale = True

    def read(self, name):
        stale, staled = self.stale, self.staled
        try:
            with open(f"mnt/{name}", "rb") as file:
                data = file.read()
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # the next one asks the daemon
        except OSError as error:
            if error.errno == errno.EIO and (stale or staled != self.staled):
                self.refused += 1
            elif error.errno != errno.ENOENT:
                raise Wrong(f"{name}: {error}") from error
            return
        if hashlib.sha256(data).digest() not in self.allowed[name]:
            raise Wrong(f"{name}: {len(data)} bytes that no version has")
        self.reads += 1

    def main(self, number):
        rng = random.Random(number)
        while not self.ending and not self.wrong:
            try:
                self.read(rng.choice(NAMES))
            except Wrong as wrong:
                self.wrong = str(wrong)


class Model:
    def __init__(self, rng, readers):
        self.rng, self.readers = rng, readers
        self.versions = {"r0": content_of("source")}
        listed = self.listed()
        self.digests = {"r0": listed["versions"][0]["digest"]}
        self.sequences = {"r0": 1}
        self.used = {1}
        self.current = self.mounted = "r0"
        self.counts = {}
        readers.allow(self.versions["r0"])

    @staticmethod
    def listed():
        return json.loads(run("datasetfsctl", "list", "--json", "volume"))

    def others(self):
        return [label for label in self.versions if label != self.current]

    def publish(self, number):
        for name in self.rng.sample(NAMES, self.rng.randrange(1, 30)):
            if self.rng.random() < 0.1 and os.path.exists(f"source/{name}"):
                os.unlink(f"source/{name}")
                continue
            with open(f"source/{name}", "wb") as out:
                size = self.rng.choice(SIZES)
                out.write(self.rng.randbytes(size // 2) + b"a line of text\n" * (size // 30))
        label, words = f"r{number}", []
        words += self.rng.choice(([], ["--trust-mtime"])) + self.rng.choice(([], ["--compress", "zstd"]))
        words += self.rng.choice(([], [], ["--no-current"]))
        self.versions[label] = content_of("source")
        self.readers.allow(self.versions[label])
        done = json.loads(run("mkdatasetfs", "--progress", "none", "--json", "--label", label, *words,
                              "volume", "source"))
        self.digests[label] = done["digest"]
        if "--no-current" not in words:
            self.current = label

    def remove(self, _):
        label = self.rng.choice(self.others())
        if label == self.mounted:
            self.readers.begin_stale()
        run("datasetfsctl", "remove", "--force", "volume", label)
        del self.versions[label], self.digests[label], self.sequences[label]

    def point(self, _):
        self.current = self.rng.choice(self.others())
        run("datasetfsctl", "current", "volume", self.current)

    def compact(self, _):
        was = self.readers.stale
        self.readers.begin_stale()  # until it is known
        below = str(self.rng.choice((50, 80, 95, 100)))
        done = json.loads(run("datasetfsctl", "compact", "--force", "--json", "--below", below, "volume"))
        moved = {v["label"] for v in done["versions"] if v["sequence"] != v["former_sequence"]}
        for label in moved:
            del self.sequences[label]
        self.readers.stale = was or self.mounted in moved
        self.counts["segments"] = self.counts.get("segments", 0) + done["segments"]

    def switch(self, _):
        label = self.rng.choice(list(self.versions))
        if self.rng.random() < 0.3:
            run("datasetfsctl", "switch", "--prepare", "mnt", label)
        run("datasetfsctl", "switch", "mnt", label)
        self.mounted, self.readers.stale = label, False
        self.compare()

    def compare(self):
        expected, found = self.versions[self.mounted], content_of("mnt")
        if expected != found:
            different = [name for name in NAMES if expected.get(name) != found.get(name)]
            raise Wrong(f"'{self.mounted}' is not what was published: {different}")

    def step(self, number):
        kinds = ["publish"] * 4 + ["switch"] * 3 + ["compact"] * 2
        if self.others():
            kinds += ["remove"] * 3 + ["point"]
        kind = self.rng.choice(kinds)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        getattr(self, kind)(number)
        return kind

    def check(self):
        listed = self.listed()
        if {v["label"]: v["digest"] for v in listed["versions"]} != self.digests or listed["current"] != self.current:
            raise Wrong(f"listed: {[v['label'] for v in listed['versions']]} with {listed['current']}, "
                        f"expected {list(self.digests)} with {self.current}")
        for version in listed["versions"]:
            label, sequence = version["label"], version["sequence"]
            if label not in self.sequences and sequence in self.used:
                raise Wrong(f"'{label}' has sequence {sequence}, which was used before")
            if self.sequences.setdefault(label, sequence) != sequence:
                raise Wrong(f"'{label}' has sequence {sequence}, expected {self.sequences[label]}")
            self.used.add(sequence)
        check_space(listed)


def check_space(listed):
    """Each segment that a version lists counts as its own or as shared, and all others are free."""
    size, users = listed["segment_size"], {}
    for version in listed["versions"]:
        for extent in version["segments"]:
            for at in range(extent["offset"], extent["offset"] + extent["length"], size):
                users.setdefault(at, []).append(version["label"])
    bytes_at = {at: min(size, listed["size"] - at) for at in users}
    for version in listed["versions"]:
        own = [at for at, labels in users.items() if labels == [version["label"]]]
        both = [at for at, labels in users.items() if version["label"] in labels and len(labels) > 1]
        found = version["unique_bytes"], version["shared_bytes"]
        expected = sum(bytes_at[at] for at in own), sum(bytes_at[at] for at in both)
        if found != expected:
            raise Wrong(f"'{version['label']}': unique and shared {found}, expected {expected}")
    catalogue = sum(run["length"] for run in listed["space"] if run["catalogue"] and not run["versions"])
    ring = 0 if listed["space"][0]["versions"] or listed["space"][0]["catalogue"] else RING
    least = listed["size"] - ring - catalogue - sum(bytes_at.values())
    most = least + catalogue  # its segment is free but for its own blocks
    if listed["tail"]:
        most += min(-listed["tail"] % size, listed["size"] - listed["tail"])
    if not least <= listed["free_bytes"] <= most:
        raise Wrong(f"{listed['free_bytes']} bytes free of {listed['size']}, expected {least} to {most}")


def main():
    seed, rounds = int(sys.argv[1]), int(sys.argv[2])
    print("seed", seed, flush=True)
    readers = Readers()
    model = Model(random.Random(seed), readers)
    for thread in readers.threads:
        thread.start()
    history = []
    try:
        for number in range(1, rounds + 1):
            history.append(model.step(number))
            model.check()
            if readers.wrong:
                raise Wrong(readers.wrong)
            if number % 9 == 0:
                run("datasetfsctl", "verify", "volume")
        for label in list(model.versions):
            run("datasetfsctl", "switch", "mnt", label)
            model.mounted, readers.stale = label, False
            model.compare()
    except Wrong as wrong:
        readers.ending = True
        sys.exit(f"round {len(history)} of {' '.join(history)}: {wrong}")
    finally:
        readers.ending = True
        for thread in readers.threads:
            thread.join()
    print(f"{model.counts}, {readers.reads} files read, {readers.refused} refused")
    if readers.wrong or not readers.reads:
        sys.exit(readers.wrong or "nothing was read")


main()
