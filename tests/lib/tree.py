# SPDX-License-Identifier: MIT
"""Makes source trees for tests: nasty (by hand), random (seeded), many (small files, fast), flat (one directory).

usage: tree.py nasty DIR [--no-special] [--no-huge] [--plain-owners]
       tree.py random DIR [--seed N] [--files N]
       tree.py many DIR --files N [--per-directory N]
       tree.py flat DIR --files N
"""
import argparse
import functools
import os
import random
import socket
import stat
import sys
import time

CHUNK = 128 << 10
MIB = 1 << 20
OWNERS = 0xcb  # CHOWN, DAC_OVERRIDE, FOWNER, SETGID and SETUID, as in is_root of common.sh


@functools.cache
def is_root():
    """Root without capabilities is an ordinary user: it can neither give files away nor read all of them."""
    if os.geteuid() != 0:
        return False
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        return any(line.startswith("CapEff:") and int(line.split()[1], 16) & OWNERS == OWNERS for line in status)


def refused(what, error):
    print(f"tree: {what}: {error.strerror}, left out", file=sys.stderr)


class Tree:
    """Writes below one directory. Names are bytes; times are set when everything is there."""

    def __init__(self, top):
        self.top = os.fsencode(top)
        self.times = {}
        os.makedirs(self.top, exist_ok=True)

    def path(self, name):
        return os.path.join(self.top, name)

    def directory(self, name, mode=0o755):
        os.makedirs(self.path(name), exist_ok=True)
        self.chmod(name, mode, 0o700)

    def chmod(self, name, mode, own):
        """An ordinary user keeps his own rights, or he could neither go on nor pack it."""
        os.chmod(self.path(name), mode if is_root() else mode | own)

    def file(self, name, content=b"", mode=0o644, mtime=None):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as out:
            out.write(content)
        self.chmod(name, mode, 0o600)
        if mtime is not None:
            self.times[name] = mtime

    def sparse(self, name, size, pieces):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as out:
            for offset, content in pieces:
                out.seek(offset)
                out.write(content)
            out.truncate(size)

    def symlink(self, name, target):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        os.symlink(target, self.path(name))

    def xattr(self, name, key, value):
        try:
            os.setxattr(self.path(name), key, value)
        except OSError as error:
            refused(f"xattr of {len(value)} bytes", error)

    def finish(self, rng):
        """Gives everything a time with nanoseconds: its own or a random one, directories last."""
        for where, directories, files, fd in os.fwalk(self.top, topdown=False):
            for name in files + directories:
                when = rng.randrange(0, 1 << 31) * 10**9 + rng.randrange(10**9)
                relative = os.path.relpath(os.path.join(where, name), self.top)
                when = self.times.get(relative, when)
                os.utime(name, ns=(when, when), dir_fd=fd, follow_symlinks=False)
        os.utime(self.top, ns=(1234567890987654321, 1234567890987654321))


def sizes(tree, rng):
    for size in (0, 1, 127, 128, 129, 511, 512, 513, 4095, 4096, 4097, 8191, 8192, CHUNK - 1, CHUNK, CHUNK + 1,
                 2 * CHUNK, 3 * CHUNK + 5, MIB - 1, MIB, MIB + 1):
        tree.file(b"sizes/%d" % size, rng.randbytes(size))
        tree.file(b"text/%d" % size, (b"line of text number %d\n" % size) * (size // 20 + 1))
    tree.file(b"sizes/small of many", b"x" * 77)


def holes(tree, rng):
    data = rng.randbytes(5000)
    tree.sparse(b"holes/start", 3 * MIB, [(2 * MIB, data)])
    tree.sparse(b"holes/middle", 3 * MIB, [(0, data), (3 * MIB - 5000, data)])
    tree.sparse(b"holes/end", 3 * MIB + 1, [(0, data)])
    tree.sparse(b"holes/only", 5 * MIB + 3, [])
    tree.sparse(b"holes/many", 64 * CHUNK, [(i * 2 * CHUNK + i, data) for i in range(32)])
    tree.file(b"holes/zeros that are written", bytes(2 * CHUNK + 17))
    tree.file(b"holes/zeros inside", rng.randbytes(CHUNK) + bytes(CHUNK) + rng.randbytes(CHUNK))
    tree.file(b"holes/one zero", b"\0")


def huge(tree, rng):
    size = (4 << 30) + 300 * MIB + 12345
    tree.sparse(b"holes/huge", size, [(0, rng.randbytes(300000)), ((4 << 30) - 1000, rng.randbytes(2000)),
                                      (size - 70001, rng.randbytes(70001))])


def names(tree, rng):
    for name in (b"new\nline", b" space ", b"two  spaces", b"quote'\"`", b"back\\slash", b"-dash", b"--", b"#hash",
                 b"tab\t", b"\x01\x7f", b"\xff\xfe\x80", b"caf\xe9", "\u00e9\u4e2d\U0001f600".encode(), b"...",
                 b"*?[a]", b"$(x);&|<>", b"%s%n", b"a" * 255, b"\xff" * 255, b".hidden", b"a,b=c"):
        tree.file(b"names/" + name, b"content of " + name)
    # Neighbours in byte order, where signed comparison would go wrong.
    for byte in (0x01, 0x20, 0x7f, 0x80, 0xff):
        tree.file(b"order/a" + bytes([byte]), bytes([byte]) * 10)
    tree.file(b"order/a", b"a")
    tree.file(b"order/aa", b"aa")
    tree.directory(b"order/ab")
    tree.file(b"order/ab/c", b"c")
    tree.file(b"order/ab.c", b".c")


def links(tree, rng):
    tree.file(b"links/first", rng.randbytes(9000))
    os.link(tree.path(b"links/first"), tree.path(b"links/same directory"))
    tree.directory(b"links/a")
    tree.directory(b"links/z")
    os.link(tree.path(b"links/first"), tree.path(b"links/a/other directory"))
    os.link(tree.path(b"links/first"), tree.path(b"links/z/\xffbytes"))
    tree.file(b"links/empty", b"")
    os.link(tree.path(b"links/empty"), tree.path(b"links/z/empty"))
    for name, target in ((b"relative", b"first"), (b"absolute", b"/nowhere/at all"), (b"dangling", b"missing"),
                         (b"directory", b"../sizes"), (b"loop", b"loop"), (b"long", b"x" * 255 + b"/" + b"y" * 3839),
                         (b"bytes", b"\xff\xfe \n"), (b"dot", b"."), (b"up", b"..")):
        tree.symlink(b"links/to " + name, target)


def duplicates(tree, rng):
    small, middle, large = rng.randbytes(3000), rng.randbytes(700000), rng.randbytes(20 * CHUNK)
    for number in range(4):
        tree.file(b"duplicates/%d/small" % number, small)
        tree.file(b"duplicates/%d/middle" % number, middle)
        tree.file(b"duplicates/%d/large" % number, large)
    tree.file(b"duplicates/prefix", large[:12 * CHUNK] + rng.randbytes(100))
    tree.file(b"duplicates/shifted", rng.randbytes(CHUNK) + large)


def directories(tree, rng):
    tree.directory(b"empty/one")
    tree.directory(b"empty/two/three")
    tree.directory(b"empty/closed", 0o000)
    for number in range(700):
        tree.file(b"wide/%05d" % (number * 7919 % 100000), b"%d" % number)
    # Deeper than PATH_MAX: only reachable step by step.
    fd = os.open(tree.top, os.O_RDONLY)
    for level in range(30):
        name = b"%02d" % level + b"d" * 198
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    out = os.open(b"bottom", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=fd)
    os.write(out, b"far down\n")
    os.close(out)
    os.close(fd)


def attributes(tree, rng, plain_owners):
    for mode in (0o000, 0o001, 0o200, 0o400, 0o644, 0o777, 0o4755, 0o2755, 0o1644, 0o7777):
        tree.file(b"modes/%04o" % mode, b"mode", mode)
    tree.directory(b"modes/sticky", 0o1777)
    tree.directory(b"modes/setgid", 0o2775)
    if is_root() and not plain_owners:
        for uid, gid in ((1, 2), (65534, 65534), (1 << 31, 5), (4294967294, 4294967294)):
            name = b"owners/%d.%d" % (uid, gid)
            tree.file(name, b"owned")
            os.chown(tree.path(name), uid, gid)
        tree.symlink(b"owners/link", b"nothing")
        os.chown(tree.path(b"owners/link"), 77, 78, follow_symlinks=False)
    for name, when in ((b"zero", 0), (b"one ns", 1), (b"before 1970", -1), (b"long before", -1500000000 * 10**9 + 7),
                       (b"last ns", 1700000000999999999), (b"after 2038", 2**31 * 10**9 + 5),
                       (b"after 2106", (2**32 + 1) * 10**9 + 999999999)):
        tree.file(b"times/" + name, b"time", mtime=when)


def xattrs(tree, rng):
    tree.file(b"xattrs/file", b"x")
    tree.xattr(b"xattrs/file", "user.name", b"value")
    tree.xattr(b"xattrs/file", "user.empty", b"")
    tree.xattr(b"xattrs/file", "user.binary", bytes(range(256)))
    tree.file(b"xattrs/same set", b"x")
    tree.xattr(b"xattrs/same set", "user.name", b"value")
    tree.file(b"xattrs/same set again", b"x")
    tree.xattr(b"xattrs/same set again", "user.name", b"value")
    tree.directory(b"xattrs/directory")
    tree.xattr(b"xattrs/directory", "user.dir", b"on a directory")
    for size in (1000, 3000, 32 << 10):
        tree.file(b"xattrs/%d" % size, b"x")
        tree.xattr(b"xattrs/%d" % size, "user.big", rng.randbytes(size))
    tree.file(b"xattrs/many", b"x")
    for number in range(40):
        tree.xattr(b"xattrs/many", "user.%02d" % number, b"%d" % number)


def special(tree):
    os.makedirs(tree.path(b"special"), exist_ok=True)
    os.mkfifo(tree.path(b"special/fifo"))
    here = os.getcwd()
    os.chdir(tree.path(b"special"))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
    os.chdir(here)
    if is_root():
        try:
            os.mknod(tree.path(b"special/null"), 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            os.mknod(tree.path(b"special/block"), 0o600 | stat.S_IFBLK, os.makedev(7, 200))
        except OSError as error:
            refused("device node", error)


def nasty(options):
    rng = random.Random(20)
    tree = Tree(options.directory)
    for part in (sizes, holes, names, links, duplicates, directories, xattrs):
        part(tree, rng)
    attributes(tree, rng, options.plain_owners)
    if not options.no_huge:
        huge(tree, rng)
    if not options.no_special:
        special(tree)
    tree.finish(rng)


def random_name(rng, used):
    while True:
        length = rng.choice((1, 3, 8, 8, 12, 30, 255))
        if rng.random() < 0.8:
            name = bytes(rng.choice(b"abcdefghijklmnopqrstuvwxyz0123456789-_.") for _ in range(length))
        else:
            name = bytes(rng.choice([b for b in range(1, 256) if b != 0x2f]) for _ in range(length))
        if name not in (b".", b"..", b".datasetfs") and name not in used:
            used.add(name)
            return name


def random_content(rng):
    size = int(rng.choice((rng.random() * 200, rng.random() * 9000, rng.random() * 300000,
                           2 ** (rng.random() * 21), rng.choice((4096, CHUNK, MIB)) + rng.randint(-1, 1))))
    kind = rng.random()
    if kind < 0.4:
        return rng.randbytes(size)
    if kind < 0.7:
        return (b"%x compressible " % rng.getrandbits(64)) * (size // 20 + 1)
    if kind < 0.8:
        return bytes(size)
    zeros = bytes(rng.randrange(3) * CHUNK + rng.randrange(5000))
    return rng.randbytes(size // 2) + zeros + rng.randbytes(size // 2)


def random_file(rng, tree, name, made):
    kind = rng.random()
    if kind < 0.05 and made:
        os.link(tree.path(rng.choice(made)), tree.path(name))
    elif kind < 0.12:
        os.symlink(rng.randbytes(rng.randint(1, 400)).replace(b"\0", b"/"), tree.path(name))
    elif kind < 0.2 and made:
        with open(tree.path(rng.choice(made)), "rb") as source:
            tree.file(name, source.read())
    elif kind < 0.3:
        pieces = [(rng.randrange(4 * MIB), rng.randbytes(rng.randint(1, 200000))) for _ in range(rng.randint(0, 4))]
        tree.sparse(name, 4 * MIB + rng.randrange(MIB), sorted(pieces))
        made.append(name)
    else:
        tree.file(name, random_content(rng), rng.choice((0o644, 0o600, 0o755, 0o4711, rng.randrange(0o10000))))
        if rng.random() < 0.1:
            tree.xattr(name, "user.%d" % rng.randrange(100), rng.randbytes(rng.randrange(500)))
        made.append(name)
    if rng.random() < 0.3 and is_root():
        os.chown(tree.path(name), rng.randrange(70000), rng.randrange(70000), follow_symlinks=False)


def random_tree(options):
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(4), "little")
    print(f"tree: seed {seed}")
    rng = random.Random(seed)
    tree = Tree(options.directory)
    where, used, made = [b""], {b"": set()}, []
    for _ in range(options.files):
        parent = rng.choice(where[-20:])
        name = os.path.join(parent, random_name(rng, used[parent]))
        if rng.random() < 0.12 and len(name) < 2000:
            tree.directory(name, rng.choice((0o755, 0o700, 0o1777)))
            where.append(name)
            used[name] = set()
        else:
            random_file(rng, tree, name, made)
    tree.finish(rng)


def fill(fd, first, last, step):
    """Files first, first + step, … of one directory; a few bytes each, all different."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    for number in range(first, last, step):
        out = os.open("f%08d" % number, flags, 0o644, dir_fd=fd)
        os.write(out, b"%d\n" % (number * 2654435761 % 2**64))
        os.close(out)


def in_parallel(work, count):
    children = []
    for number in range(count):
        child = os.fork()
        if child == 0:
            try:
                work(number)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    if any(os.waitpid(child, 0)[1] for child in children):
        sys.exit("tree: a child failed")


def many(options):
    os.makedirs(options.directory, exist_ok=True)
    groups = (options.files + options.per_directory - 1) // options.per_directory
    workers = os.cpu_count() or 1

    def work(worker):
        for group in range(worker, groups, workers):
            name = os.path.join(options.directory, "%03d" % (group % 1000), "%05d" % group)
            os.makedirs(name, exist_ok=True)
            fd = os.open(name, os.O_RDONLY)
            first = group * options.per_directory
            fill(fd, first, min(first + options.per_directory, options.files), 1)
            os.close(fd)

    in_parallel(work, workers)


def flat(options):
    os.makedirs(options.directory, exist_ok=True)
    fd = os.open(options.directory, os.O_RDONLY)
    fill(fd, 0, options.files, 1)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("kind", choices=("nasty", "random", "many", "flat"))
    parser.add_argument("directory")
    parser.add_argument("--no-special", action="store_true")
    parser.add_argument("--no-huge", action="store_true")
    parser.add_argument("--plain-owners", action="store_true")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--per-directory", type=int, default=1000)
    options = parser.parse_args()
    os.umask(0o022)
    {"nasty": nasty, "random": random_tree, "many": many, "flat": flat}[options.kind](options)


main()
