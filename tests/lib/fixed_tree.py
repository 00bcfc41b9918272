# SPDX-License-Identifier: MIT
"""Makes source trees that never change: same-bytes.sh and old-release.sh compare them with what is stored.

usage: fixed_tree.py KIND DIR

base        files around every limit of the format, equal files, holes, links, names, modes, times
changed     a base tree in DIR becomes the tree of the next version
grown       and that the one after
kinds       files that are hardly worth compressing
xattrs      user attributes
owners      files of other users (root)
long-holes  holes of 1024 chunks and more
release-1, release-2, release-3
            small trees that compress well, the second and third made from the one before

Bytes come from SHAKE-128, so no release of Python changes them. What root makes belongs to root, also in a user
namespace; what an ordinary user makes is all his own. Exit status: 77 with a line "skip: …" where the file system
does not keep what a tree has.
"""
import hashlib
import os
import sys

CHUNK = 128 << 10
MIB = 1 << 20
SECOND = 10**9


def noise(seed, size):
    return hashlib.shake_128(seed.encode()).digest(size)


def text(seed, size):
    line = 0
    out = bytearray()
    while len(out) < size:
        out += f"{seed}: line {line} of a text that compresses, {line * line} and {line % 7}\n".encode()
        line += 1
    return bytes(out[:size])


def pattern(seed, size):
    """Different in every block, and yet it compresses well."""
    block = noise(seed, 1016)
    return b"".join(block + count.to_bytes(8, "little") for count in range(size // 1024 + 1))[:size]


def skip(why):
    print(f"skip: {why}")
    sys.exit(77)


class Tree:
    """Writes below one directory. What was not written again keeps its time."""

    def __init__(self, top):
        self.top = os.fsencode(top)
        self.kept = {}   # name → (mode, mtime) that it is to have in the end
        self.owners = {} # name → (uid, gid) unless they are 0
        os.makedirs(self.top, exist_ok=True)

    def path(self, name):
        return os.path.join(self.top, os.fsencode(name))

    def keep(self, name, mode, mtime):
        """Without mtime, one that is made of the name."""
        name = os.fsencode(name)
        if mtime is None:
            mtime = int.from_bytes(hashlib.shake_128(name).digest(7), "little") % (1600000000 * SECOND)
        self.kept[name] = (mode, mtime)

    def directory(self, name, mode=0o755, mtime=None):
        self.parent(name)
        os.makedirs(self.path(name), exist_ok=True)
        self.keep(name, mode, mtime)

    def parent(self, name):
        above = os.path.dirname(os.fsencode(name))
        if above and above not in self.kept:
            self.parent(above)
            self.directory(above)

    def file(self, name, content, mode=0o644, mtime=None):
        self.parent(name)
        with open(self.path(name), "wb") as out:
            out.write(content)
        self.keep(name, mode, mtime)

    def sparse(self, name, size, pieces):
        self.parent(name)
        with open(self.path(name), "wb") as out:
            for offset, content in pieces:
                out.seek(offset)
                out.write(content)
            out.truncate(size)
        self.keep(name, 0o600, None)

    def symlink(self, name, target):
        self.parent(name)
        os.symlink(os.fsencode(target), self.path(name))
        self.keep(name, None, None)

    def link(self, first, name):
        self.parent(name)
        os.link(self.path(first), self.path(name))

    def remove(self, name):
        self.parent(name)
        os.unlink(self.path(name))

    def xattr(self, name, key, value):
        try:
            os.setxattr(self.path(name), key, value)
        except OSError as error:
            skip(f"this file system has no user attributes: {error.strerror}")

    @staticmethod
    def own(path, uid, gid):
        try:
            os.chown(path, uid, gid, follow_symlinks=False)
        except OSError as error:
            skip(f"owner {uid}:{gid} cannot be set: {error.strerror}")

    def finish(self):
        """Owners, modes and times, directories after what is in them; and whether the file system kept them."""
        self.keep(b"", 0o755, 1234567890987654321)
        for name, (mode, mtime) in sorted(self.kept.items(), reverse=True):
            path = self.path(name)
            if os.geteuid() == 0:
                self.own(path, *self.owners.get(name, (0, 0)))
            if mode is not None:
                os.chmod(path, mode)
            os.utime(path, ns=(mtime, mtime), follow_symlinks=False)
        for name, (mode, mtime) in self.kept.items():
            found = os.lstat(self.path(name))
            if found.st_mtime_ns != mtime or mode not in (None, found.st_mode & 0o7777):
                skip(f"this file system keeps no time {mtime} and mode {mode} of {name}, but {found}")


# --- the trees of same-bytes.sh ---------------------------------------------------------------------


def sizes(tree):
    for size in (0, 1, 127, 128, 129, 511, 512, 513, 4095, 4096, 4097, CHUNK - 1, CHUNK, CHUNK + 1, MIB - 1, MIB,
                 MIB + 1, 3 * MIB + 5):
        tree.file(f"sizes/{size}", noise(f"sizes {size}", size))
    for size in (100, 3000, 4096, 50000, CHUNK, 700000, 2 * MIB + 77):
        tree.file(f"text/{size}.txt", text(f"text {size}", size))
    for number in range(40):
        tree.file(f"small/{number:02}", noise(f"small {number}", 200 + 211 * number))
        tree.file(f"prose/{number:02}", text(f"prose {number}", 5000))
    for number in range(300):
        tree.file(f"wide/{number * 7919 % 10007:05}", str(number).encode())


def equals(tree):
    large = noise("large", 20 * CHUNK)
    for number in range(3):
        tree.file(f"equal/{number}/small", noise("small", 3000))
        tree.file(f"equal/{number}/middle", noise("middle", 300000))
        tree.file(f"equal/{number}/large", large)
    tree.file("equal/prefix", large[:12 * CHUNK] + noise("tail", 100))
    tree.file("equal/shifted", noise("shift", CHUNK) + large[:9 * CHUNK])


def holes(tree):
    data = noise("holes", 5000)
    tree.sparse("holes/start", 3 * MIB, [(2 * MIB, data)])
    tree.sparse("holes/middle", 3 * MIB, [(0, data), (3 * MIB - 5000, data)])
    tree.sparse("holes/end", 3 * MIB + 1, [(0, data)])
    tree.sparse("holes/only", 5 * MIB + 3, [])
    tree.sparse("holes/many", 24 * CHUNK, [(i * 2 * CHUNK + i, data) for i in range(12)])
    tree.sparse("holes/in a small file", 6 * CHUNK, [(3 * CHUNK, data)])
    tree.file("holes/zeros", bytes(2 * CHUNK + 17))
    tree.file("holes/one zero", b"\0")


def names(tree):
    for name in (b"new\nline", b" space ", b"-dash", b"tab\t", b"\x01\x7f", b"\xff\xfe\x80", b"...", b"*?[a]",
                 "\u00e9\u4e2d\U0001f600".encode(), b"a" * 255, b"\xff" * 255, b".hidden", b"ab",
                 b"a b", b"a/b", b"a.b"):
        tree.file(b"names/" + name, b"content of " + name)
    for level in range(12):
        tree.directory("/".join(["deep"] * (level + 1)))
    tree.file("/".join(["deep"] * 12) + "/bottom", b"far down\n")
    tree.directory("empty/one/two")


def links(tree):
    tree.file("links/first", noise("linked", 9000))
    for name in ("links/same directory", "links/a/other directory", "zlinks/last"):
        tree.link("links/first", name)
    tree.file("links/empty", b"")
    tree.link("links/empty", "links/a/empty")
    for name, target in (("relative", "first"), ("absolute", "/nowhere/at all"), ("loop", "loop"), ("up", ".."),
                         ("long", "x" * 255 + "/" + "y" * 3000), ("bytes", b"\xff\xfe \n")):
        tree.symlink(f"links/to {name}", target)
    os.mkfifo(tree.path("links/fifo is left out"))


def attributes(tree):
    for mode in (0o000, 0o001, 0o200, 0o400, 0o644, 0o777, 0o4755, 0o2755, 0o1644, 0o7777):
        tree.file(f"modes/{mode:04o}", b"mode", mode)
    tree.directory("modes/sticky", 0o1777)
    tree.directory("modes/setgid", 0o2775)
    tree.directory("modes/closed", 0o000)
    for name, when in (("zero", 0), ("one ns", 1), ("before 1970", -1), ("long before", -1500000000 * SECOND + 7),
                       ("last ns", 1700000000999999999), ("after 2038", 2**31 * SECOND + 5),
                       ("after 2106", (2**32 + 1) * SECOND + 999999999)):
        tree.file(f"times/{name}", b"time", mtime=when)


def base(tree):
    for part in (sizes, equals, holes, names, links, attributes):
        part(tree)


def changed(tree):
    """Of the files in the tree some go, some have other bytes or another mode, and new ones come."""
    for number in range(0, 40, 3):
        tree.remove(f"small/{number:02}")
        tree.file(f"prose/{number:02}", text(f"changed {number}", 5500))
    tree.remove("text/2097229.txt")
    tree.remove(f"sizes/{3 * MIB + 5}")
    tree.file("small/01", noise("other bytes", 411), mtime=1500000000 * SECOND)
    tree.file("sizes/4096", noise("sizes 4096", 4096), 0o600)
    tree.file("equal/0/large", noise("large", 20 * CHUNK) + b"longer")
    tree.file("new/copy of middle", noise("middle", 300000))
    tree.file("new/file", noise("new", 2 * MIB + 9))
    tree.link("links/first", "new/link")
    tree.remove("zlinks/last")


def grown(tree):
    tree.file("new/more", noise("more", 300))
    tree.file("new/text", text("more", 40000))


def kinds(tree):
    """Files that compress so little that --compress auto leaves them alone 48 MiB after it has seen eight of them."""
    for number in range(12):
        for name in (f"early/{number:02}.packed", f"late/{number:02}.packed"):
            tree.file(name, noise(name, 4700) + bytes(400))
    tree.sparse("late/00 between", 64 * MIB, [(i * MIB, b"data") for i in range(64)])


def xattrs(tree):
    for name in ("file", "same set", "again"):
        tree.file(name, b"x")
        tree.xattr(name, "user.name", b"value")
    tree.xattr("file", "user.empty", b"")
    tree.xattr("file", "user.binary", bytes(range(256)))
    tree.directory("directory")
    tree.xattr("directory", "user.dir", b"on a directory")
    tree.file("many", noise("many", 5000))
    for number in range(40):
        tree.xattr("many", f"user.{number:02}", str(number).encode())


def owners(tree):
    for uid, gid in ((1, 2), (65534, 65534), (1 << 31, 5)):
        tree.file(f"{uid}.{gid}", b"owned")
        tree.owners[b"%d.%d" % (uid, gid)] = (uid, gid)
    tree.directory("theirs")
    tree.symlink("theirs/link", "nothing")
    tree.owners |= {b"theirs": (1000, 1000), b"theirs/link": (77, 78)}


def long_holes(tree):
    data = noise("long", 5000)
    tree.sparse("listed", 1024 * CHUNK + CHUNK, [(1024 * CHUNK, data)])
    tree.sparse("one less", 1024 * CHUNK, [(1023 * CHUNK, data)])
    tree.sparse("two", 5000 * CHUNK + 1, [(5, data), (2500 * CHUNK, data), (2502 * CHUNK, data)])
    tree.sparse("nothing else", 1 << 40, [])
    tree.file("small", data)


# --- the trees of old-release.sh --------------------------------------------------------------------


def release_1(tree):
    for size in (0, 1, 128, 129, 4095, 4096, 4097, CHUNK + 1, MIB):
        tree.file(f"sizes/{size}", pattern("sizes", size))
    for number in range(150):
        tree.file(f"wide/{number:03}", str(number).encode())
        tree.file(f"small/{number:03}", pattern(f"small {number % 5}", 300 + number))
    tree.file("large", pattern("large", 2 * MIB + 77))
    tree.file("equal", pattern("large", 2 * MIB + 77))
    tree.file("goes", pattern("goes", 3 * MIB))
    tree.sparse("sparse", 3 * MIB + 1, [(0, pattern("sparse", 5000)), (2 * MIB, b"in the middle")])
    tree.link("sizes/4097", "linked")
    tree.link("sizes/0", "linked and empty")
    tree.symlink("link", "sizes/4097")
    tree.symlink("dangling", b"\xff nowhere")
    tree.directory("empty", 0o1777)
    tree.file(b"name \xff\n", b"bytes", 0o4755, -5 * SECOND + 7)
    tree.file("attributes", b"x")
    tree.xattr("attributes", "user.name", b"value")
    tree.xattr("attributes", "user.empty", b"")
    tree.file("theirs", b"owned")
    tree.owners[b"theirs"] = (1000, 1001)


def release_2(tree):
    for number in range(0, 150, 2):
        tree.remove(f"small/{number:03}")
    tree.remove("goes")
    tree.file("text", text("text", 60000))
    tree.file("large and compressed", pattern("compressed", MIB + 5))
    tree.file("small/001", pattern("changed", 3000))


def release_3(tree):
    tree.remove("equal")
    tree.file("large", pattern("large", 2 * MIB) + b"another end")
    tree.file("new", pattern("new", 40000))


KINDS = {"base": base, "changed": changed, "grown": grown, "kinds": kinds, "xattrs": xattrs, "owners": owners,
         "long-holes": long_holes, "release-1": release_1, "release-2": release_2, "release-3": release_3}


def main():
    kind, top = sys.argv[1:]
    os.umask(0o022)
    tree = Tree(top)
    KINDS[kind](tree)
    tree.finish()


main()
