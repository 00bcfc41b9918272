# SPDX-License-Identifier: MIT
"""Compares what library-tree says of a version with the tree that it was made of, or with a mount of it.

usage: library_tree.py walk TREE [--mount] <OUTPUT      everything, in depth-first order; with --mount all of stat(2)
       library_tree.py ids TREE <OUTPUT                 the path of every id: the first of its inode, breadth-first
       library_tree.py lookup MOUNT PATHS <OUTPUT       PATHS, a NUL behind each, by openat2(2) with RESOLVE_BENEATH
Exit status: 0 identical, 1 different."""
import ctypes
import errno
import os
import stat
import struct
import sys

OPENAT2, O_PATH, RESOLVE_BENEATH = 437, 0o10000000, 8
HIDDEN = stat.S_ISUID | stat.S_ISGID
shown = 0


def differs(text):
    global shown
    shown += 1
    if shown <= 20:
        print(text)


def is_packed(st):
    return stat.S_ISREG(st.st_mode) or stat.S_ISDIR(st.st_mode) or stat.S_ISLNK(st.st_mode)


def entries(fd):
    """(name, stat, target of a link) of a directory, by names."""
    for name in sorted(os.fsencode(name) for name in os.listdir(fd)):
        st = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if is_packed(st):
            yield name, st, os.readlink(name, dir_fd=fd) if stat.S_ISLNK(st.st_mode) else b""


def tree(top):
    """(directory, name, stat, target) of everything below top, a directory before its entries. Paths may be longer than
    the kernel takes, so it goes from directory to directory."""
    fd = os.open(top, os.O_RDONLY)
    stack = [(b"", fd, entries(fd))]
    while stack:
        folder, fd, listing = stack[-1]
        entry = next(listing, None)
        if entry is None:
            os.close(fd)
            stack.pop()
            continue
        yield folder, *entry
        if stat.S_ISDIR(entry[1].st_mode):
            below = os.open(entry[0], os.O_RDONLY, dir_fd=fd)
            stack.append((folder + entry[0] + b"/", below, entries(below)))


def breadth_first(top):
    """(path, stat) in the order of ordinals, further names of a file as well."""
    folders = {}
    for folder, name, st, _ in tree(top):
        folders.setdefault(folder, []).append((folder + name, st))
    queue = [b""]
    for folder in queue:
        for path, st in folders.get(folder, ()):
            yield path, st
            if stat.S_ISDIR(st.st_mode):
                queue.append(path + b"/")


def expected(path, st, target, is_mount):
    """As library-tree has it, without what only a mount can say."""
    mode = st.st_mode if is_mount else st.st_mode & ~HIDDEN
    fields = {"dev": 0, "type": mode >> 12, "mode": f"{mode:o}", "uid": st.st_uid, "gid": st.st_gid,
              "mtime": f"{st.st_mtime_ns // 10**9}.{st.st_mtime_ns % 10**9:09}", "path": path, "target": target}
    if is_mount or not stat.S_ISDIR(mode):
        fields["size"] = st.st_size
        fields["nlink"] = st.st_nlink
    if is_mount:
        fields.update(id=st.st_ino, blocks=st.st_blocks, blksize=st.st_blksize)
    return fields


def records(text):
    parts = text.split(b"\0")
    names = ("id", "dev", "type", "mode", "nlink", "uid", "gid", "size", "blocks", "blksize", "mtime")
    for at in range(0, len(parts) - 1, 3):
        fields = dict(zip(names, parts[at].decode().split()))
        fields.update(path=parts[at + 1], target=parts[at + 2])
        yield fields


def compare_walk(top, is_mount, text):
    found = records(text)
    count = 0
    for folder, name, st, target in tree(top):
        count += 1
        record = next(found, {"path": b"(nothing)"})
        for field, value in expected(folder + name, st, target, is_mount).items():
            said = record.get(field)
            if said != (value if isinstance(value, bytes) else str(value)):
                differs(f"…{(folder + name)[-80:]!r}: {field} {said!r}, expected {value!r}")
    if rest := list(found):
        differs(f"{len(rest)} more, the first is {rest[0]['path']!r}")
    print(f"{count} entries")
    if not count:
        differs("the tree is empty")


def compare_ids(top, text):
    found = iter(text.split(b"\0")[:-1])
    root = int(next(found).rstrip(b" "))
    seen = set()
    for path, st in breadth_first(top):
        if (st.st_dev, st.st_ino) in seen:
            continue
        seen.add((st.st_dev, st.st_ino))
        said = next(found, b"(nothing)")
        if said != b"%d %s" % (root + len(seen), path):
            differs(f"…{said[-80:]!r}, expected {root + len(seen)} …{path[-80:]!r}")
    if rest := list(found):
        differs(f"{len(rest)} more, the first is {rest[0]!r}")
    print(f"{len(seen)} ids")


def kernel_lookup(top_fd, path):
    """st_ino or the name of an errno. EAGAIN: somebody mounts or renames something on this machine."""
    how = struct.pack("QQQ", O_PATH, 0, RESOLVE_BENEATH)
    libc = ctypes.CDLL(None, use_errno=True)
    for _ in range(10000):
        fd = libc.syscall(OPENAT2, top_fd, path.lstrip(b"/") or b".", how, len(how))
        if fd >= 0 or ctypes.get_errno() != errno.EAGAIN:
            break
    if fd < 0:
        return errno.errorcode[ctypes.get_errno()]
    try:
        return str(os.fstat(fd).st_ino)
    finally:
        os.close(fd)


def compare_lookup(mount, paths, text):
    top_fd = os.open(mount, os.O_PATH)
    root = os.fstat(top_fd).st_ino
    paths = open(paths, "rb").read().split(b"\0")[:-1]
    said = text.decode().split("\n")[:-1]
    if len(paths) != len(said) or not paths:
        differs(f"{len(said)} answers to {len(paths)} paths")
    for path, answer in zip(paths, said):
        kernel = kernel_lookup(top_fd, path)
        if kernel == str(root) and answer.isdigit():  # the ordinal of the root is 1 in any version
            answer = str(int(answer) & (1 << 40) - 1)
        if kernel != answer:
            differs(f"{path!r}: {answer}, the kernel says {kernel}")


def main():
    text = sys.stdin.buffer.read()
    if sys.argv[1] == "walk":
        compare_walk(os.fsencode(sys.argv[2]), sys.argv[3:] == ["--mount"], text)
    elif sys.argv[1] == "ids":
        compare_ids(os.fsencode(sys.argv[2]), text)
    else:
        compare_lookup(sys.argv[2], sys.argv[3], text)
    return shown != 0


sys.exit(main())
