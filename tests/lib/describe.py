# SPDX-License-Identifier: MIT
"""What 'datasetfsctl describe --json' must say of source trees, found by reading them, compared with what it says.

usage: describe.py survey TREE CHUNK_SIZE LIMIT [FOLDER] <JSON
       describe.py diff FROM TO LIMIT [FOLDER] <JSON
       describe.py mirrored FILE FILE
       describe.py make-survey TREE
       describe.py make-splits TREE
       describe.py make-kinds TREE COUNT
       describe.py make-diff FROM TO
"""
import collections
import hashlib
import json
import math
import os
import random
import re
import shutil
import stat
import statistics
import sys

MIB = 1 << 20
BLOCK = 128  # files of a block of neighbours
SPLIT = "(train(ing)?|val(id(ation)?)?|dev|eval|test(ing)?|holdout)([0-9._-][0-9a-z._-]*)?"
TYPES = {stat.S_IFREG: "regular file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}


def text(name):
    return name.decode(errors="surrogateescape")


class Entry:
    """A name of a tree: path is from the tree's root, b"" for the root itself."""

    def __init__(self, top, path):
        full = os.path.join(top, path) if path else top
        self.path = path
        self.st = os.lstat(full)
        self.type = TYPES[stat.S_IFMT(self.st.st_mode)]
        self.is_file = self.type == "regular file"
        self.size = self.st.st_size if self.is_file else 0
        self.content = b""
        if self.is_file:
            with open(full, "rb") as file:
                self.content = file.read()
        elif self.type == "symlink":
            self.content = os.readlink(full)
        self.sha = hashlib.sha256(self.content).digest()
        self.xattrs = sorted((name, os.getxattr(full, name, follow_symlinks=False)) for name in
                             os.listxattr(full, follow_symlinks=False) if name.startswith("user."))

    def shown(self):
        return text(b"/" + self.path)


def entries(top, below=b""):
    """All names in the order of their paths, component by component."""
    top, paths = os.fsencode(top), []
    for folder, folders, files in os.walk(os.path.join(top, below)):
        for path in [folder] + [os.path.join(folder, name) for name in files] + [
                os.path.join(folder, name) for name in folders if os.path.islink(os.path.join(folder, name))]:
            relative = os.path.relpath(path, top)
            paths.append(b"" if relative == b"." else relative)
    return [Entry(top, path) for path in sorted(paths, key=lambda path: path.split(b"/") if path else [])]


def counts(names):
    return {"files": len(names), "bytes": sum(entry.size for entry in names)}


# --- a survey ---

def kind_of(path):
    name = path.rsplit(b"/", 1)[-1]
    dot = name.rfind(b".")
    suffix = name[dot + 1:] if dot > 0 else b""
    return suffix.lower() if len(suffix) <= 15 else b""


def folder_counts(name, names):
    files = [entry for entry in names if entry.is_file]
    found = counts(files) | {"symlinks": sum(entry.type == "symlink" for entry in names)}
    return found if name is None else {"name": text(name)} | found


def folders_of(names, below, limit):
    """Of names below the root or a folder."""
    skip = len(below) + 1 if below else 0
    top = {entry.path[skip:]: [] for entry in names
           if entry.type == "directory" and entry.path != below and b"/" not in entry.path[skip:]}
    outside = []
    for entry in names:
        first, slash, _ = entry.path[skip:].partition(b"/")
        (top[first] if slash else outside).append(entry)
    rows = sorted((folder_counts(name, inside) for name, inside in top.items()),
                  key=lambda row: (-row["files"], os.fsencode(row["name"])))
    full = [row for row in rows if row["files"]]
    return {
        "with_files": len(full),
        "without_files": len(rows) - len(full),
        "smallest": full[-1] if full else None,
        "median_files": statistics.median(row["files"] for row in full) if full else None,
        "largest": full[0] if full else None,
        "imbalance": round(full[0]["files"] / full[-1]["files"], 6) if full else None,
        "outside": folder_counts(None, outside),
        "list": rows[:limit],
    }


def splits_of(names, below, folders):
    """Of the top folders, not only of those that are listed."""
    found, files = [], 0
    for row in folders["list"]:
        inside = os.path.join(below, os.fsencode(row["name"]))
        split = folders_of([entry for entry in names if entry.path.startswith(inside + b"/")], inside, sys.maxsize)
        if row["files"] and split["outside"]["files"] * 2 <= row["files"] and re.fullmatch(SPLIT, row["name"], re.I):
            found.append({"name": row["name"]} | split)
            files += row["files"]
    return found if files * 2 > sum(row["files"] for row in folders["list"]) else []


def sizes_of(files):
    bins = collections.defaultdict(list)
    for entry in files:
        bins[entry.size.bit_length()].append(entry)
    return [{"from": 1 << n >> 1, "to": (1 << n) - 1} | counts(bins[n]) for n in sorted(bins)]


def kinds_of(names, limit):
    kinds = collections.defaultdict(list)
    for entry in names:
        kinds[kind_of(entry.path)].append(entry)
    rows = sorted(kinds.items(), key=lambda row: (-len(row[1]), row[0].ljust(15, b"\0")))
    return {"count": len(rows), "further": {"files": 0, "bytes": 0},
            "list": [{"kind": text(kind)} | counts(found) for kind, found in rows[:limit]]}


def holes_of(entry, chunk):
    pieces = [entry.content[at:at + chunk] for at in range(0, entry.size, chunk)]
    return sum(len(piece) for piece in pieces if not piece.strip(b"\0"))


def order_of(files, named, below, splits):
    """Of a version in the order of the tree: files lie as a walk, breadth first, finds them."""
    def parts_of(entry):
        return os.path.relpath(entry.path, below).split(b"/") if below else entry.path.split(b"/")

    def class_of(entry):
        parts = parts_of(entry)[:-1]
        return tuple(parts[:2 if parts and text(parts[0]) in splits else 1])

    places = {}
    for entry in sorted(named, key=lambda entry: (len(parts_of(entry)), parts_of(entry))):
        places.setdefault((entry.st.st_dev, entry.st.st_ino), len(places))
    classes = [class_of(entry) for entry in sorted(files, key=lambda e: places[e.st.st_dev, e.st.st_ino])]
    blocks = [classes[at:at + BLOCK] for at in range(0, len(classes) - BLOCK + 1, BLOCK)]
    even = sum(1 - math.prod(max(0, len(files) - count - i) / (len(files) - i) for i in range(BLOCK))
               for count in collections.Counter(classes).values()) if blocks else 0
    return {"kind": "tree", "seed": None, "block_files": BLOCK, "blocks": len(blocks),
            "classes": round(sum(len(set(block)) for block in blocks) / len(blocks), 6) if blocks else None,
            "classes_at_random": round(even, 6) if blocks else None}


def survey(top, chunk, limit, folder=""):
    below = os.fsencode(folder.strip("/"))
    names = entries(top, below)
    named = [entry for entry in names if entry.is_file]
    files = list({(entry.st.st_dev, entry.st.st_ino): entry for entry in reversed(named)}.values())[::-1]
    first, again = set(), []
    for entry in files:
        if entry.size:
            (again.append if entry.sha in first else lambda _: None)(entry)
            first.add(entry.sha)
    splits = splits_of(names, below, folders_of(names, below, sys.maxsize))
    return {
        "cache": None,
        "folder": folder or None,
        **counts(files),
        "empty_files": sum(entry.size == 0 for entry in files),
        "directories": sum(entry.type == "directory" for entry in names),
        "symlinks": sum(entry.type == "symlink" for entry in names),
        "further_names": len(named) - len(files),
        "further_bytes": sum(entry.size for entry in named) - sum(entry.size for entry in files),
        "folders": folders_of(names, below, limit),
        "splits": [split | {"list": split["list"][:limit]} for split in splits],
        "order": order_of(files, named, below, [split["name"] for split in splits]),
        "sizes": sizes_of(files),
        "kinds": kinds_of(named, limit),
        "largest": [{"path": entry.shown(), "bytes": entry.size}
                    for entry in sorted(files, key=lambda entry: -entry.size)[:limit]],
        "duplicates": counts(again),
        "storage": {"sparse_files": sum(holes_of(entry, chunk) > 0 for entry in files),
                    "hole_bytes": sum(holes_of(entry, chunk) for entry in files)},
    }


def check_survey(found, top, chunk, limit, folder=""):
    expected = survey(top, int(chunk), int(limit), folder)
    storage, duplicates = found["storage"], found["duplicates"]
    if storage["hole_bytes"] + storage["unique_bytes"] + duplicates["saved_bytes"] != found["bytes"]:
        sys.exit(f"holes, shared and unique bytes are not all: {storage} {duplicates} {found['bytes']}")
    ratio = round(storage["unique_bytes"] / storage["stored_bytes"], 6) if storage["stored_bytes"] else None
    if storage["compression"] != ratio:
        sys.exit(f"compression {storage['compression']}, expected {ratio}")
    expected["storage"] = storage | expected["storage"]
    expected["duplicates"]["saved_bytes"] = duplicates["saved_bytes"]
    compare(found, expected, ("volume", "version"))


def compare(found, expected, others):
    """Every key, and none that nobody knows."""
    if set(found) != set(expected) | set(others):
        sys.exit(f"keys: {sorted(set(found) ^ (set(expected) | set(others)))}")
    for key, value in expected.items():
        if found[key] != value:
            sys.exit(f"{key}: found\n{found[key]}\nexpected\n{value}")


# --- a comparison ---

def attributes(a, b):
    what = {
        "mode": a.st.st_mode != b.st.st_mode,
        "owner": (a.st.st_uid, a.st.st_gid) != (b.st.st_uid, b.st.st_gid),
        "mtime": a.st.st_mtime_ns != b.st.st_mtime_ns,
        "xattrs": a.xattrs != b.xattrs,
        "links": a.type != "directory" and a.st.st_nlink != b.st.st_nlink,
    }
    return [word for word, differs in what.items() if differs]


def moves_of(removed, added):
    """Pairs of files with the same content, the first with the first."""
    left = collections.defaultdict(list)
    for entry in added:
        if entry.is_file and entry.size:
            left[entry.sha].append(entry)
    return [(entry, left[entry.sha].pop(0)) for entry in removed
            if entry.is_file and entry.size and left[entry.sha]]


def kind_counts(names):
    return counts([entry for entry in names if entry.is_file]) | {
        "directories": sum(entry.type == "directory" for entry in names),
        "symlinks": sum(entry.type == "symlink" for entry in names)}


def item(entry, **more):
    return {"path": entry.shown(), "type": entry.type, "bytes": entry.size} | more


def difference(old, new, limit, below=""):
    from_ = {entry.path: entry for entry in entries(old, os.fsencode(below))}
    to = {entry.path: entry for entry in entries(new, os.fsencode(below))}
    removed = [entry for path, entry in from_.items() if path not in to]
    added = [entry for path, entry in to.items() if path not in from_]
    moved = moves_of(removed, added)
    removed = [entry for entry in removed if entry not in [pair[0] for pair in moved]]
    added = [entry for entry in added if entry not in [pair[1] for pair in moved]]
    both = [(from_[path], entry) for path, entry in to.items() if path in from_]
    changed = [(a, b) for a, b in both if a.type != b.type or a.content != b.content]
    same = [pair for pair in both if pair not in changed]
    metadata = [(a, b) for a, b in same if attributes(a, b)]
    return {
        "folder": below or None,
        "added": kind_counts(added) | {"list": [item(entry) for entry in added[:limit]]},
        "removed": kind_counts(removed) | {"list": [item(entry) for entry in removed[:limit]]},
        "changed": kind_counts([b for _, b in changed]) | {
            "former_bytes": sum(a.size for a, _ in changed),
            "list": [item(b, former_type=a.type, former_bytes=a.size) for a, b in changed[:limit]]},
        "moved": kind_counts([a for a, _ in moved]) | {
            "list": [{"from": a.shown(), "to": b.shown(), "type": a.type, "bytes": a.size}
                     for a, b in moved[:limit]]},
        "metadata": kind_counts([b for _, b in metadata]) | {
            "list": [item(b, what=attributes(a, b)) for a, b in metadata[:limit]]},
        "unknown": {"files": 0, "bytes": 0, "directories": 0, "symlinks": 0, "list": []},
        "unchanged": kind_counts([b for _, b in same if (_, b) not in metadata]),
    }


def check_mirrored(one, other):
    """The comparison the other way round, whole lists."""
    if one["added"] != other["removed"] or one["removed"] != other["added"]:
        sys.exit("added is not removed the other way round")
    swapped = sorted(({**row, "from": row["to"], "to": row["from"]} for row in other["moved"]["list"]),
                     key=lambda row: row["from"])
    if sorted(one["moved"]["list"], key=lambda row: row["from"]) != swapped or not swapped:
        sys.exit(f"moved: {one['moved']} {swapped}")
    if one["changed"]["bytes"] != other["changed"]["former_bytes"] or one["metadata"]["list"] == []:
        sys.exit("changed or metadata")
    for kind in ("changed", "metadata"):
        if [row["path"] for row in one[kind]["list"]] != [row["path"] for row in other[kind]["list"]]:
            sys.exit(kind)


# --- trees ---

def put(top, name, content, **more):
    path = os.path.join(os.fsencode(top), os.fsencode(name))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
        if "sparse" in more:
            file.truncate(more["sparse"])
    return path


def make_survey(top):
    rng = random.Random(17)
    for number, files in enumerate((40, 7, 7, 1)):
        for i in range(files):
            put(top, f"class{number}/{'sub/' * (i % 3)}{i}.{'JPG' if i % 4 else 'jpeg'}", rng.randbytes(3 << i % 12))
    os.makedirs(os.path.join(top, "empty/below"))
    for size in (0, 1, 2, 3, 4, 4095, 4096, 4097, 128 << 10, (128 << 10) + 1, MIB, MIB + 1):
        put(top, f"sizes/{size}", rng.randbytes(size))
    large = rng.randbytes(3 * MIB + 5)
    for name in ("same/a.bin", "same/b.bin", "class1/copy.tar.gz"):
        put(top, name, large)
        put(top, name + ".small", large[:5000])
    put(top, "same/part.bin", large[:2 * MIB] + b"other end")
    put(top, "same/other-first-byte.bin", bytes([large[0] ^ 1]) + large[1:])
    put(top, "text/words.txt", b"the same words again and again\n" * 60000)
    put(top, "holes/sparse", b"x" * 10, sparse=5 * MIB)
    put(top, "holes/zeros", bytes(2 * MIB))
    put(top, "holes/only", b"", sparse=MIB)
    for name in ("before", "behind"):  # a chunk of 16 KiB that is nothing, at either end of the same one
        put(top, f"holes/{name}", bytes(16 << 10) * (name == "before") + large[:16 << 10], sparse=32 << 10)
    put(top, "holes/long", b"begin", sparse=20 * MIB)  # a list, from 1024 chunks of 16 KiB on
    for name in (b"new\nline.t\nt", b"\xff\xfe.\xff", b"\x1b[31mred.\x1b", "ünï.JPG".encode(), b"quo'te.q'",
                 b"back\\slash.b\\", b".hidden", b"..two", b"ends.", b"a.b.c", b"long.0123456789abcde",
                 b"long.0123456789abcdef", b"UP.TxT"):
        put(top, b"names/" + name, b"odd " + name)
    put(top, b"bad\xff\nname/file", b"1")
    put(top, "root.txt", b"in the root")
    put(top, ".profile", b"")
    for target, name in (("root.txt", "link"), ("class0", "class-link"), ("nowhere", "names/dangling")):
        os.symlink(target, os.path.join(top, name))
    first = put(top, "class2/linked.raw", rng.randbytes(70000))
    for name in (b"class0/linked.other", b"linked"):
        os.link(first, os.path.join(os.fsencode(top), name))


def make_splits(top):
    for name, classes in (("train2017", (9, 4, 2)), ("VAL_small", (3, 1)), ("notes", (5,)), ("testament", (2,))):
        for number, files in enumerate(classes):
            for i in range(files):
                put(top, f"{name}/class{number}/{'deep/' * (i % 2)}{i}", b"content")
    os.makedirs(os.path.join(top, "val"))  # empty
    put(top, "test/flat.txt", b"not in a class")
    put(top, "train2017/labels.csv", b"in no class")
    put(top, "zz-last", b"behind the splits, in no folder")
    os.symlink("class0", os.path.join(top, "train2017/alias"))
    os.makedirs(os.path.join(top, "VAL_small/class9"))


def make_diff(old, new):
    rng = random.Random(4)
    for i in range(30):
        put(old, f"keep/{i % 3}/{i}", rng.randbytes(100 * i))
        put(old, f"renamed/{i}.jpg", rng.randbytes(2000 + i))
    for name in ("keep/zz-gone", "keep-beside", "keep.beside"):  # beside a directory, and after all that is in it
        put(old, name, name.encode())
    put(old, "large", rng.randbytes(2 * MIB + 1))
    for name in (b"moved\nhere", b"gone\xff", b"a/x", b"a/y", b"a/z", b"b/x", b"type", b"types", b"touched", b"mode",
                 b"xattr"):
        put(old, name, rng.randbytes(50) + name)
    for i in range(4):
        put(old, f"several/{i}", b"one content of several files")
    os.symlink("x", os.path.join(old, "link"))
    os.symlink("x", os.path.join(old, "kept-link"))
    os.mkdir(os.path.join(old, "gone"))
    put(old, "empty-gone", b"")
    shutil.copytree(old, new, symlinks=True)

    def inside(name):
        return os.path.join(os.fsencode(new), os.fsencode(name))

    os.rename(inside("renamed"), inside("other-name"))
    os.rename(inside(b"moved\nhere"), inside(b"keep/moved to\x1b"))
    os.remove(inside(b"gone\xff"))
    os.rmdir(inside("gone"))
    os.remove(inside("keep/zz-gone"))
    os.rename(inside("empty-gone"), inside("empty-new"))
    for i in range(3):  # four names of one content are two here, and one was there before
        os.remove(inside(f"several/{i}"))
    put(new, "several-new/1", b"one content of several files")
    put(new, "several-new/2", b"one content of several files")
    put(new, "a/x", b"changed, with another size")
    put(new, "a/y", bytes(reversed(open(inside("a/y"), "rb").read())))
    with open(inside("large"), "r+b") as file:
        file.seek(2 * MIB)
        file.write(b"!")
    os.remove(inside("link"))
    os.symlink("y", inside("link"))
    os.remove(inside("type"))
    os.mkdir(inside("type"))
    put(new, "type/below", b"a directory now")
    os.remove(inside("types"))
    os.symlink("a", inside("types"))
    os.utime(inside("touched"), (1, 1))
    os.chmod(inside("mode"), 0o600)
    os.chmod(inside("xattr"), 0o640)
    try:
        os.chown(inside("touched"), 12, 34)
    except PermissionError:
        print("describe.py: no other owner", file=sys.stderr)
    os.link(inside("b/x"), inside("b/second-name"))
    put(new, "new/file.txt", b"new")
    os.symlink("file.txt", inside("new/link"))
    try:
        os.setxattr(inside("xattr"), "user.label", b"cat")
    except OSError as error:
        print(f"describe.py: no xattr: {error.strerror}", file=sys.stderr)


def main():
    verb, words = sys.argv[1], sys.argv[2:]
    if verb == "make-survey":
        make_survey(*words)
    elif verb == "make-splits":
        make_splits(*words)
    elif verb == "make-kinds":
        for i in range(int(words[1])):
            put(words[0], f"{i % 10}/file.{i:05}", b"1234")
    elif verb == "make-diff":
        make_diff(*words)
    elif verb == "survey":
        check_survey(json.load(sys.stdin), *words)
    elif verb == "mirrored":
        check_mirrored(*[json.load(open(name, encoding="utf-8")) for name in words])
    else:
        compare(json.load(sys.stdin), difference(words[0], words[1], int(words[2]), *words[3:]),
                ("volume", "from", "to"))


main()
