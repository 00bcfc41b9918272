#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fsspec's filesystem of a version against its LocalFileSystem on the source: the same results of every method that
reads, and the same exceptions; how it is registered, pickled, forked and shared; changes and bad names are refused.

usage, by fuse/python-fsspec.sh and itself: python-fsspec.py make TREE | compare VERSION TREE WAY | rights VERSION TREE
"""
import array
import errno
import importlib.util
import io
import os
import pickle
import random
import re
import shutil
import subprocess
import sys
import threading
import zipfile

BUILD, SOURCE = os.environ["DATASETFS_BUILD"], os.environ["DATASETFS_SOURCE"]
PACKAGE = os.path.join(BUILD, "root", "usr", "share", "datasetfs", "python")
sys.path.insert(0, PACKAGE)
import datasetfs  # noqa: E402
if not importlib.util.find_spec("fsspec"):
    print(f"skip: {sys.executable} has no fsspec (Debian: python3-fsspec, for /usr/bin/python3)")
    sys.exit(77)
import fsspec  # noqa: E402

LARGE = bytes(range(251)) * 12000  # several chunks
VOLUME = os.path.abspath("volume@of.dsfs")
VERSION = f"{VOLUME}@v1"
PATTERNS = ("*", "**", "*/*", "cat/*.jpg", "**/*.jpg", "c?t/*", "[cd]*/[0-9].jpg", "a@b/*", "none*", "cat/1.jpg",
            "none")
SLICES = ((None, None), (0, 7), (3, None), (-9, None), (2, -3), (5, 10 ** 9))


def fail(what, found, expected):
    sys.exit(f"fail: {what}: found {ascii(found)[:600]}, expected {ascii(expected)[:600]}")


def check(what, found, expected):
    if found != expected:
        fail(what, found, expected)


def make_tree(tree):
    for name, contents in (("cat/1.jpg", b"one\ntwo\n\nfour, without an end"), ("cat/2.jpg", b""),
                           ("cat/deep/er/3.jpg", b"3"), ("dog/large", LARGE), ("dog/lines", b"a line\n" * 3000),
                           ("a@b/c@d", b"with @"), ("top", b"top"), ("\u00e4 b/\udcff", b"no UTF-8"),
                           ("dog/[1]*?.jpg", b"magic"), ("only/files/x", b"xyz" * 30)):
        os.makedirs(os.path.dirname(f"{tree}/{name}"), exist_ok=True)
        with open(f"{tree}/{name}", "wb") as file:
            file.write(contents)
    os.makedirs(f"{tree}/nothing")
    os.link(f"{tree}/cat/1.jpg", f"{tree}/dog/1.jpg")
    for name, target in (("dog/link", "../cat/1.jpg"), ("kitten", "cat"), ("dog/broken", "nowhere"), ("loop", "loop"),
                         ("cat/second", "../dog/link"), ("only/link", "files/x"), ("only/up", "files")):
        os.symlink(target, f"{tree}/{name}")
    os.chmod(f"{tree}/cat/1.jpg", 0o640)
    os.chmod(f"{tree}/top", 0o755)
    os.chmod(f"{tree}/only/files", 0o700)
    os.utime(f"{tree}/top", ns=(0, 1234567890987654321))
    os.utime(f"{tree}/cat", (0, 0))


class Pair:
    """The two filesystems, and how what they say is made equal: by the paths of ours, and without what a version has
    not of its source: numbers of inodes, times of their changes, sizes of directories."""

    def __init__(self, ours, version, tree):
        self.ours, self.theirs = ours, fsspec.filesystem("file")
        self.version, self.tree = version, tree

    def plain(self, found):
        if isinstance(found, dict):
            if "islink" in found:
                found = {key: value for key, value in found.items() if key not in ("ino", "created")}
                if os.path.isdir(self.plain(found["name"])):
                    found = {**found, "size": "any", "nlink": "any"}
            return {self.plain(key): self.plain(value) for key, value in found.items()}
        if isinstance(found, (list, tuple)):
            return [self.plain(item) for item in found]
        if isinstance(found, str) and (found + "/").startswith(self.version + "/"):
            return self.tree + found[len(self.version):]
        return found

    def outcome(self, call, fs, root):
        try:
            return self.plain(call(fs, root))
        except Exception as error:  # pylint: disable=broad-except
            return type(error).__name__

    def same(self, what, call):
        """call(filesystem, root) of both."""
        found, expected = self.outcome(call, self.ours, self.version), self.outcome(call, self.theirs, self.tree)
        if found != expected:
            fail(what, found, expected)
        return found


def by_name(entries):
    return sorted(entries, key=lambda entry: entry["name"] if isinstance(entry, dict) else entry)


def walked(fs, path, **words):
    """Without the order of names in a directory, which a filesystem chooses."""
    return sorted(([folder, sorted(folders.items() if isinstance(folders, dict) else folders),
                    sorted(files.items() if isinstance(files, dict) else files)]
                   for folder, folders, files in fs.walk(path, **words)), key=lambda row: row[0])


def compare_names(pair, paths):
    for path in paths:
        def of(name, *arguments, **words):
            pair.same(f"{name} {arguments} {words} of {path!r}",
                      lambda fs, root: getattr(fs, name)(root + path, *arguments, **words))

        for name in ("info", "stat", "exists", "lexists", "isdir", "isfile", "find"):
            of(name)
        if not os.path.isdir(pair.tree + path):
            of("size")
        for words in ({"detail": True}, {"withdirs": True}, {"maxdepth": 1}, {"maxdepth": 2, "withdirs": True}):
            of("find", **words)
        for detail in (True, False):
            pair.same(f"ls of {path!r}", lambda fs, root: by_name(fs.ls(root + path, detail=detail)))
            pair.same(f"listdir of {path!r}", lambda fs, root: by_name(fs.listdir(root + path, detail=detail)))
        for words in ({}, {"topdown": False}, {"maxdepth": 1}, {"detail": True}):
            pair.same(f"walk {words} of {path!r}", lambda fs, root: walked(fs, root + path, **words))
        pair.same(f"time of {path!r}", lambda fs, root: fs.modified(root + path).replace(tzinfo=None))
    for pattern in PATTERNS:
        for detail in (True, False):
            pair.same(f"glob {pattern!r}", lambda fs, root: fs.glob(f"{root}/{pattern}", detail=detail))
    for recursive in (True, False):
        pair.same("paths", lambda fs, root: fs.expand_path([root + "/cat", root + "/dog/*"], recursive=recursive))
    for path in ("/cat", "/top", "/none", "/dog"):
        for total in (True, False):
            pair.same(f"du of {path}", lambda fs, root: fs.du(root + path, total=total))
    pair.same("sizes", lambda fs, root: fs.sizes([root + "/top", root + "/dog/large"]))


def compare_contents(pair, paths, files):
    for path in paths:
        for name in ("cat_file", "read_bytes", "cat", "head", "tail", "read_text"):
            pair.same(f"{name} of {path!r}", lambda fs, root: getattr(fs, name)(root + path))
        for offset, length, delimiter in ((0, 10, None), (3, 8, b"\n"), (0, None, b"\n"), (5, 10 ** 6, None)):
            pair.same(f"block of {path!r}", lambda fs, root: fs.read_block(root + path, offset, length, delimiter))
        for mode in ("r", "rb", "rt"):
            pair.same(f"lines of {path!r}", lambda fs, root: list(fs.open(root + path, mode)))
    for path in files:
        contents = pair.theirs.cat_file(pair.tree + path)
        for start, end in SLICES:
            found = pair.ours.cat_file(pair.version + path, start, end)
            check(f"{start}:{end} of {path!r}", found, contents[start:end])
            if len(contents) > 20:
                check(f"{start}:{end} of the source", pair.theirs.cat_file(pair.tree + path, start, end), found)
    some = [path for path in files if os.path.getsize(pair.tree + path) > 20] * 3
    for start, end in SLICES:
        pair.same("ranges", lambda fs, root: fs.cat_ranges([root + path for path in some], start, [end] * len(some)))
    for on_error in ("raise", "omit"):
        pair.same(f"cat {on_error}", lambda fs, root: fs.cat([root + path for path in paths], on_error=on_error))
    pair.same("cat of a list", lambda fs, root: fs.cat([root + path for path in files]))
    pair.same("cat of one", lambda fs, root: fs.cat([root + "/top"]))
    pair.same("cat of a pattern", lambda fs, root: fs.cat(root + "/cat/*.jpg"))
    pair.same("cat of all", lambda fs, root: fs.cat(root, recursive=True, on_error="omit"))
    returned = [pair.plain(pair.outcome(lambda fs, root: {
        path: found if isinstance(found, bytes) else type(found).__name__ for path, found in
        fs.cat([root + path for path in paths], on_error="return").items()}, fs, root))
        for fs, root in ((pair.ours, pair.version), (pair.theirs, pair.tree))]
    check("exceptions in their places", *returned)


def compare_files(pair, seed):
    """A random order of calls on an open file."""
    rng = random.Random(seed)
    for path in ("/dog/large", "/dog/lines", "/cat/1.jpg", "/cat/2.jpg"):
        for block_size in (None, 1, 700, 1 << 20):
            files = (pair.ours.open(pair.version + path, block_size=block_size), pair.theirs.open(pair.tree + path))
            for _ in range(150):
                name, argument = rng.choice((("read", rng.randrange(5000)), ("readline", -1), ("tell", None),
                                             ("seek", rng.randrange(4000)), ("seek", (rng.randrange(-50, 50), 1)),
                                             ("seek", (-rng.randrange(9000), 2)), ("read1", rng.randrange(3)),
                                             ("readinto", rng.randrange(30000)), ("readlines", 100)))
                outcomes = []
                for file in files:
                    arguments = () if argument is None else argument if isinstance(argument, tuple) else (argument,)
                    buffer = bytearray(argument) if name == "readinto" else None
                    try:
                        result = getattr(file, name)(*(arguments if buffer is None else (buffer,)))
                    except OSError as error:
                        result = error.errno
                    outcomes.append((result, buffer, file.tell()))
                if outcomes[0] != outcomes[1]:
                    fail(f"{name} {argument} of {path}, seed {seed}", *outcomes)
            check("size", files[0].size, files[1].size)
            again = pickle.loads(pickle.dumps(files[0]))
            check("pickled", (again.tell(), again.read()), (files[0].tell(), files[1].read()))
            for file in files:
                file.close()
            check("closed", [file.closed for file in files], [True, True])


def fetched(folder):
    """What lies below a folder, which is removed."""
    found = {}
    for where, folders, files in os.walk(folder):
        for name in files:
            with open(os.path.join(where, name), "rb") as file:
                found[os.path.relpath(os.path.join(where, name), folder)] = file.read()
        found.update((os.path.relpath(os.path.join(where, name), folder), None) for name in folders)
    shutil.rmtree(folder)
    return found


def get(fs, source, target, **words):
    os.makedirs("fetched")
    try:
        fs.get(source, target, **words)
    finally:
        found = fetched("fetched")
    return found


def compare_copies(pair):
    for path, target, words in (("/only", "fetched/only", {"recursive": True}), ("/top", "fetched/top", {}),
                                ("/top", "fetched/", {}), ("/dog/l*", "fetched/", {}), ("/none", "fetched/none", {}),
                                ("/dog/link", "fetched/link", {})):
        pair.same(f"get {path}", lambda fs, root: get(fs, root + path, target, **words))
        pair.same(f"download {path}", lambda fs, root: get(fs, root + path, target, **words))
    pair.same("get of two", lambda fs, root: get(fs, [root + "/top", root + "/cat/1.jpg"], ["fetched/a", "fetched/b"]))
    for path in ("/dog/large", "/cat/2.jpg"):
        def into(fs, root):
            file = io.BytesIO()
            fs.get_file(root + path, file)
            return file.getvalue()

        pair.same(f"get_file {path}", into)


def compare_mappings(pair):
    def mapping(fs, root):
        return fs.get_mapper(root + "/cat")

    def missing(fs, root):
        return mapping(fs, root)["none"]

    pair.same("keys", lambda fs, root: sorted(mapping(fs, root)))
    pair.same("values", lambda fs, root: [mapping(fs, root)[key] for key in ("1.jpg", "deep/er/3.jpg", "second")])
    pair.same("many", lambda fs, root: mapping(fs, root).getitems(["1.jpg", "2.jpg", "none"], on_error="omit"))
    pair.same("length", lambda fs, root: len(mapping(fs, root)))
    pair.same("in", lambda fs, root: [key in mapping(fs, root) for key in ("1.jpg", "deep", "none")])
    check("missing", pair.same("missing", missing), "KeyError")


def compare(ours, version, tree, seed=1):
    """version: a path of ours that shows what the tree has."""
    pair = Pair(ours, version, os.path.abspath(tree))
    entries = [where[len(pair.tree):] + "/" * bool(name) + name for where, folders, files in os.walk(pair.tree)
               for name in ["", *folders, *files]]
    paths = sorted({*entries, "/none", "/none/none", "/top/below", "/kitten/1.jpg", "/kitten/deep/er", "/only/up/x"})
    files = [path for path in paths if os.path.isfile(pair.tree + path) and "*" not in path]
    if len(files) < 14:
        fail("files", files, "14 at least")
    compare_names(pair, paths)
    compare_contents(pair, [path for path in paths if "*" not in path], files)
    compare_files(pair, seed)
    compare_copies(pair)
    compare_mappings(pair)


def compare_rights(ours, version, tree):
    """As a user who may not read all of it."""
    pair = Pair(ours, version, os.path.abspath(tree))
    files = ("/cat/1.jpg", "/dog/link", "/only/files/x", "/only/files/none", "/only/link")
    for path in (*files, "/only/files", "/only"):
        for name in ("info", "find", "exists", "lexists", "isdir", "isfile", "du"):
            pair.same(f"{name} of {path}", lambda fs, root: getattr(fs, name)(root + path))
        pair.same(f"ls of {path}", lambda fs, root: by_name(fs.ls(root + path, detail=True)))
    for path in files:
        pair.same(f"cat of {path}", lambda fs, root: fs.cat_file(root + path))
        pair.same(f"open of {path}", lambda fs, root: fs.open(root + path).tell())
    check("a file", pair.same("a file", lambda fs, root: fs.open(root + "/cat/1.jpg")), "PermissionError")


# --- what a local filesystem has not

def refused(what, kind, pattern, call, *arguments, **words):
    try:
        call(*arguments, **words)
    except Exception as error:  # pylint: disable=broad-except
        if type(error) is not kind or not re.search(pattern, str(error)):
            sys.exit(f"fail: {what}: {type(error).__name__} {error}")
        return error
    sys.exit(f"fail: {what}: no {kind.__name__}")


def pack(volume, tree, label):
    done = subprocess.run(["mkdatasetfs", "--progress", "none", "--label", label, volume, tree], capture_output=True)
    check(f"pack {label}: {done.stderr}", done.returncode, 0)


def python(code, *arguments, status=0, **environment):
    """The output of another interpreter, which has this package in its path."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": PACKAGE, **environment})
    if done.returncode != status:
        sys.exit(f"fail: {code}: {done.stderr}")
    return done.stdout.strip() if status == 0 else done.stderr.splitlines()[-1]


def check_registered():
    """By the package in any order, without the import of fsspec; by the entry point that wheels and packages have."""
    opens = "print(fsspec.open('datasetfs://' + sys.argv[1]).open().read())"
    for imports in ("datasetfs, fsspec", "fsspec, datasetfs", "fsspec, datasetfs.filesystem",
                    "datasetfs, importlib.util; importlib.util.find_spec('fsspec'); import fsspec"):
        check(imports, python(f"import sys, {imports}; {opens}", f"{VERSION}/top"), "b'top'")
    check("the loader", python("import datasetfs, fsspec; print(type(fsspec.__loader__).__module__)"),
          "_frozen_importlib_external")
    check("imported", python("import sys, datasetfs; print('fsspec' in sys.modules)"), "False")
    if "without" != python("import sys; sys.path = [path for path in sys.path if 'dist-packages' not in path and"
                           " 'site-packages' not in path]; import datasetfs\ntry: import fsspec\n"
                           "except ModuleNotFoundError: print('without')"):
        sys.exit("fail: without fsspec")
    with open(os.path.join(SOURCE, "contrib", "python", "pyproject.toml"), encoding="utf-8") as file:
        point, = re.findall(r'^\[project[.]entry-points[."]+(\S+)"\]\n(\S+) = "(.*)"$', file.read(), re.MULTILINE)
    os.makedirs("site/datasetfs-1.dist-info")
    with open("site/datasetfs-1.dist-info/entry_points.txt", "w", encoding="utf-8") as file:
        file.write("[{}]\n{} = {}\n".format(*point))
    check("the entry point", python(f"import sys, fsspec; assert 'datasetfs' not in sys.modules; {opens}",
                                    f"{VERSION}/top", PYTHONPATH=f"{os.getcwd()}/site:{PACKAGE}"), "b'top'")


def check_batches(fs):
    """Many files or ranges are read with one call, errors take the places of bytes, and each has its name."""
    calls, read_many = [], datasetfs.Reader.read_many
    datasetfs.Reader.read_many = lambda *arguments: calls.append(len(arguments[1])) or read_many(*arguments)
    names = [name for name in fs.find(VERSION) if "*" not in name]  # which are patterns to cat()
    fs.cat(names, on_error="omit")
    check("a batch", calls, [len(names)])
    calls.clear()
    ranges = [f"{VERSION}/dog/large"] * 2500
    found = fs.cat_ranges(ranges, list(range(2500)), [start + 5 for start in range(2500)])
    check("ranges", found, [LARGE[start:start + 5] for start in range(2500)])
    check("batches", (sum(calls), len(calls)), (2500, 3))
    datasetfs.Reader.read_many = read_many
    for kind in (tuple, iter, lambda bounds: array.array("Q", bounds)):
        check("bounds that are no list", fs.cat_ranges(ranges[:9], kind(range(9)), kind(range(5, 14))), found[:9])
    found = fs.cat_ranges([f"{VERSION}/none", f"{VERSION}/top", f"{VERSION}/cat", "none@v1/x"], [-2, -2, 0, 0], None)
    check("among errors", [one if isinstance(one, bytes) else (type(one).__name__, one.filename) for one in found],
          [("FileNotFoundError", f"{VERSION}/none"), b"op", ("IsADirectoryError", f"{VERSION}/cat"),
           ("FileNotFoundError", os.path.abspath("none"))])
    refused("the first", FileNotFoundError, "there is no 'none': '.*v1/none'$", fs.cat_ranges,
            [f"{VERSION}/none", f"{VERSION}/top"], 0, 1, on_error="raise")
    check("two versions", fs.cat([f"{VERSION}/top", f"{VOLUME}@v@2/top"]),
          {f"{VERSION}/top": b"top", f"{VOLUME}@v@2/top": b"second"})


def check_names(fs):
    """A volume and a label that have an @, a path from here, and one that another filesystem is in."""
    check("from here", fs.ls("volume@of.dsfs@v1/a@b", detail=False), [f"{VERSION}/a@b/c@d"])
    check("with its protocol", fs.cat(f"datasetfs://{VERSION}/a@b/c@d"), b"with @")
    check("in words", fs.unstrip_protocol(f"{VERSION}/top"), f"datasetfs://{VERSION}/top")
    check("in a zip", fsspec.open(f"zip://in/side::datasetfs://{VOLUME}@v@2/a.zip").open().read(), b"zipped")
    check("the second version", fs.info(f"{VOLUME}@v@2")["type"], "directory")
    same, other = (fs.ukey(f"{version}/top") for version in (VERSION, f"{VOLUME}@v@2"))
    check("keys", (same == other, same == fs.ukey(f"datasetfs://{VERSION}/top"), same == fs.ukey(f"{VERSION}/a@b")),
          (False, True, False))
    check("checksums", fs.checksum(f"{VERSION}/top") == fs.checksum(f"{VOLUME}@v@2/top"), False)
    check("times", (fs.modified(f"{VERSION}/top").isoformat()[:19], fs.created(f"{VERSION}/top").tzinfo is None),
          ("2009-02-13T23:31:30", False))


def check_refused(fs):
    digest = datasetfs.Reader(VOLUME, version="v1").info.digest
    check("a digest", fsspec.filesystem("datasetfs", digest=digest).cat(f"{VERSION}/top"), b"top")
    other = fsspec.filesystem("datasetfs", digest=digest)
    for path, kind, pattern in (
            ("none@v1/x", FileNotFoundError, "there is no such file or device: .*none'$"),
            (f"{VOLUME}@v9/x", FileNotFoundError, "no version 'v9': choose one that it has, v1, v@2: '.*dsfs'$"),
            ("tree/top@v1/x", OSError, "not a datasetfs volume.*tree/top'$"),
            ("tree@v1/top", OSError, "not on a datasetfs mount: '.*tree'$"),
            *((path, FileNotFoundError, rf"expected VOLUME@VERSION/… or a path on a mount of datasetfs: '.*{path}'$")
              for path in ("plain/x", "tree/top", "none/x", "plain@/x", "@v1/x"))):
        for name in ("info", "ls", "find", "cat_file", "open", "walk", "ukey"):
            refused(f"{name} {path}", kind, pattern, getattr(fs, name), path)
        check(f"exists {path}", fs.exists(path), False)
    refused("another digest", OSError, "sha256", other.info, f"{VOLUME}@v@2/top")
    refused("an option", TypeError, "'digset'", fsspec.filesystem, "datasetfs", digset=digest)
    refused("a way", ValueError, "way='fast', expected None, 'direct' or 'mount'", fsspec.filesystem, "datasetfs",
            way="fast")
    refused("a mode", ValueError, "mode 'qb', expected 'r' or 'rb'", fs.open, f"{VERSION}/top", "q")
    refused("no path", TypeError, "expected str, bytes or os.PathLike object, not int", fs.open, 5)
    refused("a zero byte", ValueError, "has a zero byte", fs.open, f"{VERSION}/top\0x")
    refused("no list", TypeError, "expected a list of paths, found '.*top'", fs.cat_ranges, f"{VERSION}/top", 0, 1)
    refused("other lengths", ValueError, "1 starts and 2 ends for 2 paths", fs.cat_ranges, ["a", "b"], [0], [1, 2])
    for call in (lambda: fs.cat_ranges([], 0, 1, on_error="x"), lambda: fs.cat(VERSION, on_error="x")):
        refused("on_error", ValueError, "on_error='x', expected 'raise'", call)
    out = f"{VOLUME}@v@2/out"
    check("errno", refused("out of the version", OSError, "v@2/out'$", fs.open, out).errno, errno.EXDEV)
    check("a link out of it", (fs.exists(out), fs.lexists(out), fs.lexists(out + "/x")), (False, True, False))
    library = python("import fsspec, datasetfs; fsspec.filesystem('datasetfs')", status=1, DATASETFS_LIBRARY="/nowhere")
    check("no library", library.startswith("ImportError: libdatasetfs.so.0 cannot be loaded"), True)


def check_changes(fs):
    old, new = f"{VERSION}/top", f"{VERSION}/new"
    calls = [(name, new) for name in ("mkdir", "makedirs", "mkdirs", "makedir")]
    calls += [(name, old) for name in ("rm", "rm_file", "delete", "touch", "rmdir")]
    calls += [(name, old, new) for name in ("cp_file", "copy", "cp", "mv", "move", "rename")]
    calls += [(name, "plain", new) for name in ("put_file", "put", "upload")]
    calls += [("open", new, mode) for mode in ("w", "wb", "ab", "xb", "r+", "rb+")]
    calls += [("pipe_file", new, b""), ("pipe", new, b""), ("pipe", {new: b""}), ("write_bytes", new, b""),
              ("write_text", new, "")]
    for name, *arguments in calls:
        error = refused(name, OSError, "versions do not change: publish another one: '", getattr(fs, name), *arguments)
        check(name, (error.errno, error.filename in (old, new)), (errno.EROFS, True))


def check_rights():
    if os.getuid():
        return
    os.chmod(VOLUME, 0o644)
    done = subprocess.run([sys.executable, __file__, "rights", VERSION, "tree"], user=65534, group=65534,
                          extra_groups=[])
    check("another user", done.returncode, 0)


def check_processes(fs):
    """Threads share what is open, a forked process goes on with it, and another one opens the same contents or none."""
    def read():
        one = fsspec.filesystem("datasetfs")
        instances.append((one, one.cat(f"{VERSION}/top")))

    instances = []
    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check("of threads", [contents for _, contents in instances], [b"top"] * 4)
    check("readers", len({id(one._locate(VERSION)[1]) for one in [fs, *(one for one, _ in instances)]}), 1)
    check("cached", (fsspec.filesystem("datasetfs") is fs, pickle.loads(pickle.dumps(fs)) is fs), (True, True))
    file = fs.open(f"{VERSION}/dog/large")
    file.seek(1000)
    child = os.fork()
    if not child:
        os._exit(0 if file.read() == LARGE[1000:] and fs.cat([f"{VERSION}/top", f"{VERSION}/cat/2.jpg"]) and
                 fsspec.filesystem("datasetfs").cat(f"{VERSION}/top") == b"top" else 1)
    check("a child", os.waitpid(child, 0)[1], 0)
    check("its parent", file.read(), LARGE[1000:])
    file.seek(20)
    with open("pickled", "wb") as pickled:
        pickle.dump((fs, file, fs.open(f"{VERSION}/top", "r").buffer), pickled)
    code = ("import pickle, datasetfs; fs, file, _ = pickle.load(open('pickled', 'rb'));"
            "print(file.read(5), fs.cat_file(file.path, 20, 25))")
    check("in another process", python(code), f"{LARGE[20:25]} {LARGE[20:25]}")
    os.rename(VOLUME, "kept")
    pack(VOLUME, "second", "v1")
    other = python("import pickle, datasetfs; pickle.load(open('pickled', 'rb'))", status=1)
    if not re.search(r"OSError: \[Errno 74\] .*sha256:.*sha256:", other):
        sys.exit(f"fail: other contents: {other}")
    check("what is open", fs.cat(f"{VERSION}/top"), b"top")
    os.rename("kept", VOLUME)


def main():
    if sys.argv[1:2] == ["make"]:
        make_tree(sys.argv[2])
    elif sys.argv[1:2] == ["compare"]:
        compare(fsspec.filesystem("datasetfs", way=sys.argv[4]), *sys.argv[2:4])
    elif sys.argv[1:2] == ["rights"]:
        compare_rights(fsspec.filesystem("datasetfs"), *sys.argv[2:4])
    else:
        make_tree("tree")
        os.makedirs("second")
        for name in ("plain", "second/top"):
            with open(name, "wb") as file:
                file.write(os.path.dirname(name).encode())
        with zipfile.ZipFile("second/a.zip", "w") as archive:
            archive.writestr("in/side", "zipped")
        os.symlink("../plain", "second/out")
        pack(VOLUME, "tree", "v1")
        pack(VOLUME, "second", "v@2")
        fs = fsspec.filesystem("datasetfs")
        compare(fs, VERSION, "tree")
        check_registered()
        check_batches(fs)
        check_names(fs)
        check_refused(fs)
        check_changes(fs)
        check_rights()
        check_processes(fs)


main()
