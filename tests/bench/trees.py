# SPDX-License-Identifier: MIT
"""The trees that are read: seeded, the same on every machine, kept with a list of their files."""
import concurrent.futures
import contextlib
import dataclasses
import hashlib
import json
import math
import os
import random
import shutil

CHANGED = 0.01   # of the files, from version to version
BASE = 16 << 20  # bytes of content that files are cut out of


@dataclasses.dataclass(frozen=True)
class Tree:
    files: int
    mean: int              # bytes; of a lognormal distribution
    sigma: float
    folders: int
    content: str = "random"  # random, text, or image: a picture that PIL reads
    whole: bool = False      # few large files: scaling makes them smaller, not fewer


TREES = {
    "8k": Tree(220_000, 8192, 0.9, 1000),
    "4k": Tree(1_500_000, 4096, 0.9, 1000),
    "text": Tree(220_000, 8192, 0.9, 1000, content="text"),
    "110k": Tree(20_000, 110 << 10, 0.6, 100, content="image"),
    "323k": Tree(8_000, 322_957, 0, 100),
    "gib": Tree(4, 1 << 30, 0, 1, whole=True),
    "long": Tree(1, 4 << 30, 0, 1, whole=True),
}


def scaled(tree, scale):
    if tree.whole:
        return dataclasses.replace(tree, mean=max(1 << 20, int(tree.mean * scale) >> 20 << 20))
    return dataclasses.replace(tree, files=max(64, int(tree.files * scale)), folders=max(4, int(tree.folders * scale)))


def words(rng):
    """Text of invented words: compresses about as prose does."""
    letters = "etaoinshrdlucmfwypvbgk"
    known = ["".join(rng.choices(letters, range(22, 0, -1), k=rng.randint(2, 9))) for _ in range(4000)]
    weights = [1 / (rank + 1) for rank in range(len(known))]
    text = " ".join(rng.choices(known, weights, k=BASE // 5))
    return text.encode()[:BASE].ljust(BASE, b".")


_base = {}


def base(content):
    """What files of this kind are cut out of; once a process."""
    if content not in _base:
        rng = random.Random(content)
        _base[content] = memoryview(words(rng) if content == "text" else rng.randbytes(BASE))
    return _base[content]


def head(content, number, size):
    """The first bytes, different in each file so that no two files are equal."""
    mark = f"{number:08d} "
    if content != "image":
        return mark.encode()[:size]
    height = max(1, size // (3 * 256))
    return f"P6 #{mark}\n256 {height} 255\n".encode()


def body_size(content, size):
    return max(1, size // (3 * 256)) * 256 * 3 if content == "image" else size


def write_file(path, content, number, size, rng):
    """Returns the bytes that it has."""
    source = base(content)
    first = head(content, number, size)
    left = body_size(content, size) - (0 if content == "image" else len(first))
    total = len(first) + left
    with open(path, "wb", buffering=0) as out:
        out.write(first)
        while left:
            part = min(left, BASE // 2)
            begin = rng.randrange(BASE - part)
            left -= out.write(source[begin:begin + part])
    return total


def write_folder(job):
    """One folder with its share of the files; a list of (path, bytes)."""
    top, tree, folder = job
    rng = random.Random(f"{tree.mean} {folder}")
    name = f"d{folder:04d}"
    os.mkdir(os.path.join(top, name))
    mu = math.log(tree.mean) - tree.sigma ** 2 / 2
    made = []
    for number in range(folder, tree.files, tree.folders):
        size = max(1, round(rng.lognormvariate(mu, tree.sigma))) if tree.sigma else tree.mean
        path = f"{name}/{number:07d}.{'ppm' if tree.content == 'image' else 'bin'}"
        made.append((path, write_file(os.path.join(top, path), tree.content, number, size, rng)))
    return made


def tar_bytes(sizes, folders):
    """What GNU tar makes of the tree and its top: a head for each entry, all in blocks, which fill up records."""
    blocks = len(sizes) + folders + 1 + sum(-(-size // 512) for size in sizes) + 2
    return -(-blocks // 20) * 20 * 512


def make(where, tree):
    """Writes the tree below where/tree, and where/list and where/about.json; nothing when it is there already."""
    with open(__file__, "rb") as code:
        made_by = hashlib.sha256(code.read()).hexdigest()[:16]
    wanted = {"tree": dataclasses.asdict(tree), "made_by": made_by}
    try:
        with open(where / "about.json", encoding="utf-8") as file:
            about = json.load(file)
        if {key: about[key] for key in wanted} == wanted:
            return about
    except (OSError, KeyError, ValueError):
        pass
    shutil.rmtree(where, ignore_errors=True)
    (where / "tree").mkdir(parents=True)
    # The pool ends its workers without signals, which they may sleep through.
    with concurrent.futures.ProcessPoolExecutor() as pool:
        jobs = [(str(where / "tree"), tree, folder) for folder in range(tree.folders)]
        made = [file for folder in pool.map(write_folder, jobs, chunksize=4) for file in folder]
    (where / "list").write_text("".join(f"{path}\n" for path, _ in made))
    sizes = [size for _, size in made]
    about = wanted | {"files": len(made), "entries": len(made) + tree.folders, "bytes": sum(sizes),
                      "tar_bytes": tar_bytes(sizes, tree.folders),
                      "device_mean": sum(-(-size // 4096) * 4096 for size in sizes) / len(sizes)}
    (where / "about.json").write_text(json.dumps(about))
    return about


@contextlib.contextmanager
def changed(where, seed):
    """Other bytes in a hundredth of the files, others for each seed; gives how many bytes.
    What was there comes back."""
    rng = random.Random(seed)
    paths = (where / "list").read_text().splitlines()
    saved = []
    try:
        for path in rng.sample(paths, max(1, round(len(paths) * CHANGED))):
            path = where / "tree" / path
            saved.append((path, path.read_bytes(), path.stat()))
            path.write_bytes(rng.randbytes(len(saved[-1][1])))
        yield sum(len(content) for _, content, _ in saved)
    finally:
        for path, content, stat in saved:
            path.write_bytes(content)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
