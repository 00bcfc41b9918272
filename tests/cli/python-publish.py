#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Publishing from Python: what was added, from memory, paths, files and streams, is read back; after a failure, a
signal or a death between any two members nothing is published; versions as objects."""
import array
import ctypes
import gzip
import io
import itertools
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tarfile
import threading
import time
import typing
import warnings

BUILD = os.environ["DATASETFS_BUILD"]
PACKAGE = os.path.join(BUILD, "root", "usr", "share", "datasetfs", "python")
sys.path.insert(0, PACKAGE)
import datasetfs  # noqa: E402
from datasetfs import member, programs, publisher, volume  # noqa: E402
from datasetfs import Publisher  # noqa: E402

LARGE = bytes(range(256)) * 10000
PR_SET_CHILD_SUBREAPER = 36


def check(what, found, expected):
    if found != expected:
        sys.exit(f"fail: {what}: found {str(found)[:600]}, expected {str(expected)[:600]}")


def refused(what, kind, pattern, call, *arguments, **words):
    try:
        call(*arguments, **words)
    except kind as error:
        if not re.search(pattern, str(error)):
            sys.exit(f"fail: {what}: {error}")
        return error
    sys.exit(f"fail: {what}: no exception")


def contents(name):
    with open(name, "rb") as file:
        return file.read()


# --- headers

def check_headers():
    """Those that are made without tarfile are the same."""
    rng = random.Random(5)
    names = ["a", "n" * 100, "n" * 101, "d/" * 60 + "f", "\u00e4", "\udc80/x", "a b/%s", "x" * 255]
    for number in range(2000):
        ours = member.Member(rng.choice(names), rng.choice([None, 0, 0o7777, rng.randrange(1 << 16)]),
                             rng.choice([None, 0, 1, 1 << 33, (1 << 33) - 1, -5, 1.5, rng.randrange(1 << 31)]))
        ours.uid, ours.gid = (rng.choice([0, 1000, (1 << 21) - 1, 1 << 21, 1 << 31]) for _ in range(2))
        size = rng.choice([0, 8192, (1 << 33) - 1, 1 << 33, rng.randrange(1 << 40)])
        found = ours.header(size)
        theirs = tarfile.TarInfo(ours.name)
        for name in ("mode", "uid", "gid", "size", "mtime", "pax_headers"):
            setattr(theirs, name, getattr(ours, name))
        check(f"header {number}", found, theirs.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape"))


# --- what is added

class Stream:
    """Gives a little at a time, and does not know how much."""

    def __init__(self, data, fails_after=None):
        self.data, self.fails_after = io.BytesIO(data), fails_after

    def read(self, size):
        if self.fails_after is not None and self.data.tell() >= self.fails_after:
            raise RuntimeError("the stream is broken")
        return self.data.read(min(size, 1000))


class Sized(Stream):
    """Says how much, which need not be right."""

    def __init__(self, data, size, **words):
        super().__init__(data, **words)
        self.size, self.at = size, 0

    def seekable(self):
        return True

    def tell(self):
        return self.at

    def seek(self, to, whence=os.SEEK_SET):
        self.at = self.size if whence == os.SEEK_END else to


def add_all_kinds(p):
    """What each name must hold."""
    p.add("bytes", b"bytes")
    p.add("empty", b"")
    p.add("deep/er/bytearray", bytearray(LARGE))
    p.add("deep/strided", memoryview(LARGE)[::3])
    p.add(pathlib.Path("deep") / "numbers", array.array("d", range(100)))
    p.add("./dotted", b"dotted")
    p.add("path", "file")
    p.add("another path", pathlib.Path("file"), mode=0o711, mtime=7)
    p.add("link", "link")
    with open("file", "rb") as file:
        file.seek(3)
        p.add("the rest of a file", file)
    p.add("memory", io.BytesIO(LARGE))
    with gzip.open("file.gz") as file:
        p.add("unpacked", file)
    p.add("stream", Stream(LARGE))
    p.add("empty stream", Stream(b""))
    p.add("sized", Sized(LARGE, len(LARGE)))
    with subprocess.Popen(["cat", "file"], stdout=subprocess.PIPE) as cat:
        p.add("pipe", cat.stdout)
    p.add("without a size", "/proc/self/cmdline")
    p.add("\u00e4\udcff\n", b"not UTF-8")
    p.add("n" * 255, b"long")
    p.add("/".join(["d" * 200] * 10), b"deep")
    text = contents("file")
    return {"bytes": b"bytes", "empty": b"", "deep/er/bytearray": LARGE, "deep/strided": LARGE[::3],
            "deep/numbers": array.array("d", range(100)).tobytes(), "dotted": b"dotted", "path": text,
            "another path": text, "link": text, "the rest of a file": text[3:], "memory": LARGE, "unpacked": text,
            "stream": LARGE, "empty stream": b"", "sized": LARGE, "pipe": text,
            "without a size": contents("/proc/self/cmdline"), "\u00e4\udcff\n": b"not UTF-8", "n" * 255: b"long",
            "/".join(["d" * 200] * 10): b"deep"}


def check_contents():
    with Publisher("kinds", label="first", order="random", sums="sha256", chunk_size="16K") as p:
        expected = add_all_kinds(p)
    check("label", (p.version.label, p.version.current, p.version.files), ("first", True, len(expected)))
    check("again", p.publish(), p.version)
    refused("a member behind it", ValueError, "'late' cannot be added: it is published", p.add, "late", b"")
    reader = datasetfs.Reader("kinds")
    check("digest", reader.info.digest, p.version.digest)
    check("order", reader.info.order, "random")
    for name, data in expected.items():
        check(repr(name), reader.read(name), data)
    attributes = {name: (oct(found.st_mode), found.st_mtime_ns, found.st_uid) for name in expected
                  if (found := reader.stat(name))}
    own = os.stat("file")
    check("of memory", attributes["bytes"], (oct(0o100644), 0, 0))
    check("of a path", attributes["path"], (oct(own.st_mode), own.st_mtime_ns, own.st_uid))
    check("as given", attributes["another path"], (oct(0o100711), 7 * 10**9, own.st_uid))


def check_same_as_directory():
    """The digest of a directory whose files are added one by one; folders have what those of an archive have."""
    rng = random.Random(6)
    for number in range(40):
        path = pathlib.Path("tree", f"d{number % 5}", f"f{number}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rng.randbytes(rng.choice([0, 10, 5000, 300000])))
        path.chmod(rng.choice([0o644, 0o664, 0o755]))
        os.utime(path, ns=(0, rng.choice([0, 1, -5 * 10**9 - 250000000, 10**18 + 123456789])))
    for folder in ["tree", *(f"tree/d{number}" for number in range(5))]:
        os.chmod(folder, 0o755)
        os.utime(folder, (0, 0))
    done = subprocess.run(["mkdatasetfs", "--json", "--all-root", "--progress=none", "directory", "tree"], check=True,
                          capture_output=True)
    with Publisher("files", all_root=True) as p:
        for path in sorted(pathlib.Path("tree").rglob("f*")):
            p.add(path.relative_to("tree"), path)
    check("digest", p.version.digest, programs.answer("mkdatasetfs", 0, done.stdout, b"").digest)


def check_threads():
    def add(first):
        for number in range(first, 400, 4):
            p.add(f"{number}", str(number).encode() * number)

    with Publisher("threads") as p:
        threads = [threading.Thread(target=add, args=(first,)) for first in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    reader = datasetfs.Reader("threads")
    check("files", reader.read_many([str(number) for number in range(400)]),
          [str(number).encode() * number for number in range(400)])


def check_progress():
    lines = []
    with Publisher("progress", progress=lines.append) as p:
        p.add("a", LARGE)
    check("the last line", (lines[-1].files, lines[-1]["files"]), (1, 1))
    with warnings.catch_warnings(record=True) as found, Publisher("warnings") as p:
        warnings.simplefilter("always")
        p.add("late", b"", mtime=1 << 40)
    if len(found) != 1 or "mkdatasetfs: 1 " not in str(found[0].message) or found[0].filename != __file__:
        sys.exit(f"fail: warnings: {[(str(line.message), line.filename) for line in found]}")


def check_forks():
    """A forked process neither keeps the archive open nor writes into it."""
    ready, wait = os.pipe(), os.pipe()
    with Publisher("forks") as p:
        p.add("before", b"before")
        child = os.fork()
        if not child:
            os.close(wait[1])
            try:
                p.add("child", b"")
            except ValueError as error:
                os.write(ready[1], str(error).encode())
            os.read(wait[0], 1)  # until the parent has published
            sys.exit(0)
        check("in the child", os.read(ready[0], 200),
              b"'child' cannot be added: it belongs to the process that made it")
        p.add("after", b"after")
    os.close(wait[1])
    check("the child's end", os.waitpid(child, 0)[1], 0)
    check("files", [name for name, _, _ in datasetfs.Reader("forks").list("/")], ["after", "before"])


# --- failures

def unchanged(what, call, kind, pattern, **words):
    """call(publisher) fails, and with it the publish: on a volume, and on one that is not there yet."""
    for name, before in (("base", contents("base")), ("new", None)):
        def run():
            with Publisher(name, **words) as p:
                p.add("first", b"first")
                call(p)

        refused(what, kind, pattern, run)
        check(f"{what}: the volume", contents(name) if os.path.exists(name) else None, before)


def check_names():
    for name in ("/absolute", "..", "../up", "a/../../b", "", "a/", "/", ".", "a/.", "zero\0byte"):
        unchanged(f"name {name!r}", lambda p: p.add(name, b""), ValueError,
                  re.escape(f"{name!r} cannot be the name of a file"))
    for name in ("first", "./first"):
        unchanged(f"twice {name}", lambda p: p.add(name, b""), datasetfs.CommandError,
                  "first' is in '-' more than once")
    unchanged("below a file", lambda p: p.add("first/below", b""), datasetfs.CommandError, "'first")
    unchanged("long", lambda p: p.add("n" * 256, b""), datasetfs.CommandError, "nnn")
    unchanged("reserved", lambda p: p.add(".datasetfs", b""), datasetfs.CommandError, "[.]datasetfs")


def check_data():
    for what, data, kind, pattern in (
            ("a number", 5, TypeError, "'x': found int, expected bytes, a path, or a file"),
            ("text", io.StringIO("text"), TypeError, "'x': its file gives str, expected bytes"),
            ("a missing path", "missing", FileNotFoundError, "'missing'"),
            ("a directory", ".", IsADirectoryError, "'[.]'"),
            ("a broken stream", Stream(LARGE, 5000), RuntimeError, "the stream is broken"),
            ("a broken file", Sized(LARGE, len(LARGE), fails_after=2 << 20), RuntimeError, "the stream is broken"),
            ("a short file", Sized(b"short", 6), OSError, "'x': its file changed while it was read"),
            ("a growing file", Sized(b"grown", 4), OSError, "'x': its file changed while it was read")):
        unchanged(what, lambda p: p.add("x", data), kind, pattern)
    def compressed_pipe(p):  # it reads to the end to tell its size, and cannot go back
        with subprocess.Popen(["gzip", "-c", "random"], stdout=subprocess.PIPE) as made:
            p.add("x", gzip.open(made.stdout))

    pathlib.Path("random").write_bytes(os.urandom(1 << 20))
    unchanged("a compressed pipe", compressed_pipe, OSError, "seek")
    unchanged("mtime", lambda p: p.add("x", b"", mtime=float("nan")), ValueError, "'x': mtime is nan")
    unchanged("mode", lambda p: p.add("x", b"", mode="0644"), TypeError, "str")


def check_exceptions():
    def raises(p):
        raise KeyError("of the program")

    def ignored(p):
        refused("inside", OSError, "changed", p.add, "x", Sized(b"short", 6))
        refused("after it", ValueError, "'y' cannot be added: 'x' could not be added", p.add, "y", b"")

    def lost(p):
        refused("inside", RuntimeError, "the stream is broken", p.add, "x", Stream(LARGE, 5000))
        refused("after it", ValueError, "'y' cannot be added: 'x' could not be added", p.add, "y", b"")

    def nested(p):
        class Adds(Sized):
            def read(self, size):
                p.add("y", b"")

        p.add("x", Adds(LARGE, len(LARGE)))

    unchanged("a stream that is lost", lost, ValueError, "the version cannot be published: 'x' could not be added")
    unchanged("a file that adds", nested, ValueError, "'y' cannot be added: the file that is being added calls")
    unchanged("an exception", raises, KeyError, "of the program")
    unchanged("a signal", lambda p: signal.raise_signal(signal.SIGINT), KeyboardInterrupt, "")
    unchanged("an exit", lambda p: sys.exit(5), SystemExit, "5")
    unchanged("an ignored failure", ignored, ValueError, "the version cannot be published: 'x' could not be added")
    with Publisher("new") as p:
        p.add("x", b"")
        threading.Timer(0.1, p.abort).start()
        refused("by another thread", (datasetfs.CommandError, ValueError), "interrupted|aborted|signal 15",
                lambda: [p.add(f"y{number}", LARGE) for number in itertools.count()])
    check("aborted", (p.version, os.path.exists("new")), (None, False))
    with Publisher("left") as p:  # what was refused before anything was written may be left out
        refused("missing", FileNotFoundError, "'missing'", p.add, "x", "missing")
        p.add("y", b"y")
    check("the others", p.version.files, 1)


def check_packer_dies():
    def run():
        with Publisher("base") as p:
            p._packer._process.kill()
            while True:
                p.add("x", LARGE)

    refused("the packer dies", datasetfs.CommandError, "mkdatasetfs was ended by signal 9", run)
    check("versions", [version.label for version in datasetfs.versions("base")], ["one"])


def check_volume():
    def publish(where, **words):
        with Publisher(where, **words) as p:
            p.add("x", b"x")

    with Publisher("base") as p:
        while not (found := programs.ask("list", ["base"], {}).publisher) or not found.at_work:
            time.sleep(0.01)
        refused("in use", datasetfs.CommandError, f"base.*process {p._packer._process.pid}", publish, "base")
        p.abort()
    refused("no folder", datasetfs.CommandError, "'no/where': there is no directory", publish, "no/where")
    refused("a label that is taken", datasetfs.CommandError, "'one'", publish, "base", label="one")
    refused("an option", datasetfs.CommandError, "'--colour'", publish, "base", colour="red")
    refused("nothing to pack", datasetfs.CommandError, "nothing to pack", lambda: Publisher("new").publish())
    refused("no volume", datasetfs.CommandError, "'file'", datasetfs.versions, "file")
    check("versions", [version.label for version in datasetfs.versions("base")], ["one"])


def check_rights():
    """As a user who may not write the volume, and as one who has no packer."""
    script = ("import sys; sys.path.insert(0, sys.argv[1]); import datasetfs\n"
              "with datasetfs.Publisher('base') as p: p.add('x', b'x')")
    user = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
    os.chmod("base", 0o444)
    before = contents("base")
    done = subprocess.run([sys.executable, "-c", script, PACKAGE], capture_output=True, text=True, **user)
    last = (done.stderr.splitlines() or [""])[-1]
    if not re.search("CommandError: volume 'base': user [0-9]+ may not change it", last):
        sys.exit(f"fail: no right to write: {done.stderr}")
    path, folders = os.environ["PATH"], programs.FOLDERS
    os.environ["PATH"], programs.FOLDERS = "", ()
    error = refused("no packer", FileNotFoundError, "not installed: install the package", Publisher, "base")
    os.environ["PATH"], programs.FOLDERS = path, folders
    check("its name", error.filename, "mkdatasetfs")
    check("the volume", contents("base"), before)
    os.chmod("base", 0o644)


def ends_early(name, count, how):
    """A process that publishes, and has added so many members when it ends. Returns the packer's exit status."""
    ready = os.pipe()
    child = os.fork()
    if not child:
        p = Publisher(name)
        for number in range(count):
            p.add(f"f{number}", LARGE[:9000 * number])
        if how == "flushed and killed":
            p._packer._pipe.flush()
        os.write(ready[1], str(p._packer._process.pid).encode())
        if how == "left":
            warnings.simplefilter("ignore")
            sys.exit(0)
        signal.pause()
    packer = int(os.read(ready[0], 20))
    if how != "left":
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(ready[0])
    os.close(ready[1])
    return os.waitstatus_to_exitcode(os.waitpid(packer, 0)[1])


def check_killed():
    """After each member the process gets SIGKILL, or leaves its publisher alone."""
    check("prctl", ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0)
    for name, before in (("base", contents("base")), ("new", None)):
        for count in range(5):
            for how in ("flushed and killed", "killed", "left"):
                check(f"{how} after {count} members", ends_early(name, count, how), 1)
                check("the volume", contents(name) if os.path.exists(name) else None, before)


# --- versions

def check_fields(kind, record):
    fields = typing.get_type_hints(kind)
    check(f"fields of {kind.__name__}", [name for name in fields if name not in record], [])
    check(f"a {kind.__name__}", type(record), kind)


def check_versions():
    with Publisher("v", label="old") as p:
        p.add("a/1", b"one")
        p.add("b/2", LARGE)
    with Publisher("v", label="new", current=None, no_current=True) as p:
        p.add("a/1", b"changed")
        p.add("b/2", LARGE)
        p.add("b/\udcff", b"added")
    found = datasetfs.versions("v", verbose=True)
    check("versions", [(version.label, version.current, version.files) for version in found],
          [("old", True, 2), ("new", False, 3)])
    check("digest", found[1].digest, p.version.digest)
    changes = datasetfs.diff("v", "old", "new", limit=1)
    check("added", [entry.path for entry in changes.added.list], ["/b/\udcff"])
    check("changed", [(entry.path, entry.former_bytes) for entry in changes.changed.list], [("/a/1", 3)])
    check("from", changes["from"].label, "old")
    check("the current one", datasetfs.describe("v").version.label, "old")
    check("folders", [folder.name for folder in datasetfs.describe("v", "new", folder="/a").folders.list], [])
    seen = datasetfs.verify("v")
    check("verify", (seen.state, [version.label for version in seen.versions]), ("clean", ["old", "new"]))
    check("one", [version.label for version in datasetfs.verify("v", "new", sample="50%").versions], ["new"])
    for kind, record in ((volume.ListedVersion, found[0]), (volume.Difference, changes), (volume.Verification, seen),
                         (volume.Description, datasetfs.describe("v")), (publisher.Published, p.version)):
        check_fields(kind, record)
    refused("no such version", datasetfs.CommandError, "'v9'", datasetfs.describe, "v", "v9")
    refused("no such field", AttributeError, "'colour'", getattr, seen, "colour")
    damage("v")
    check("damage", datasetfs.verify("v").state, "damaged")


def check_meta():
    meta = {"licence": "CC-BY-4.0", "description": "one = two,\n\tna\u00efve"}
    for label, said in ("none", {}), ("said", meta), ("again", dict(reversed(meta.items()))):
        with Publisher("m", label=label, meta=said) as p:
            p.add("x", b"x")
    check("identical", p.version.identical_to, "said")
    check("metadata", [version.meta for version in datasetfs.versions("m", verbose=True)], [{}, meta, meta])
    check("unasked", "meta" in datasetfs.versions("m")[0], False)
    check("of one version", datasetfs.describe("m", "said").version.meta.licence, "CC-BY-4.0")
    check("of two", datasetfs.diff("m", "none", "said").to.meta, meta)
    for what, said in ("no text", {"size": 5}), ("an equals sign", {"a=b": "c"}):
        refused(what, ValueError, "^meta: found ", Publisher, "m", meta=said)
    publish = Publisher("m", meta={"the licence": "MIT"}).publish
    refused("a key", datasetfs.CommandError, "option '--meta': key 'the licence': expected letters", publish)


def damage(name):
    with open(name, "r+b") as file:
        at = contents(name).index(LARGE[:4096])
        file.seek(at)
        file.write(b"damage")


def check_hints():
    for name in ("describe", "diff", "switch", "verify", "versions"):
        if "return" not in typing.get_type_hints(getattr(datasetfs, name)):
            sys.exit(f"fail: {name}() says nothing of what it returns")
    for name in ("__init__", "abort", "add", "publish"):
        typing.get_type_hints(getattr(Publisher, name))


warnings.simplefilter("error")
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background begins without it
with open("file", "wb") as file:
    file.write(b"text of a file\n" * 1000)
os.chmod("file", 0o640)
os.utime("file", ns=(0, 1234567890123456789))
os.symlink("file", "link")
with gzip.open("file.gz", "wb") as file:
    file.write(contents("file"))
with Publisher("base", label="one") as base:
    base.add("base", b"base")

check_headers()
check_contents()
check_same_as_directory()
check_threads()
check_progress()
check_forks()
check_names()
check_data()
check_exceptions()
check_packer_dies()
check_volume()
check_rights()
check_killed()
check_versions()
check_meta()
check_hints()
