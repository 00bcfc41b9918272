# SPDX-License-Identifier: MIT
"""Walks a mount that the kernel serves, and looks at what is in the page cache then: kernel_walks.py MOUNT WHAT"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["DATASETFS_SOURCE"], "tests", "lib"))
from cached import absent  # noqa: E402
from patience import Patience  # noqa: E402

MOUNT = sys.argv[1]
NAMES = [f"f{i:03}" for i in range(200)]
AHEAD = 64  # files, WALKS_FILES


def read(folder, name):
    with open(os.path.join(MOUNT, folder, name), "rb") as file:
        file.read()


def is_read(folder, name):
    """Half of it is enough, as the kernel may take pages away."""
    path = os.path.join(MOUNT, folder, name)
    return absent(path) <= -(-os.stat(path).st_size // 4096) // 2


def those_read(folder, names):
    """Looked at from the end: who looks opens them."""
    return [name for name in reversed(names) if is_read(folder, name)]


def are_read(folder, names):
    return len(those_read(folder, names)) == len(names)


def walk(folder, count):
    os.listdir(os.path.join(MOUNT, folder))
    for name in NAMES[:count]:
        read(folder, name)


def again_until(what, step, is_so):
    """The process that is told of files may get its turn late, when this short walk is over."""
    patience = Patience(120)
    while True:
        step()
        for _ in range(100):
            if is_so():
                return
            time.sleep(0.01)
        if patience.is_over():
            sys.exit(f"fail: {what}")


def at_random():
    """Another process, in no order that could be a walk."""
    child = os.fork()
    if not child:
        os.listdir(os.path.join(MOUNT, "c"))
        for name in reversed(NAMES[::5]):
            read("c", name)
        os._exit(0)
    os.waitpid(child, 0)


def to_the_next():
    walk("a", 8)
    os.listdir(os.path.join(MOUNT, "b"))


def with_a_pause():
    walk("e", 8)
    time.sleep(4)  # longer than WALKS_LIVE and a period
    for name in NAMES[8:40]:
        read("e", name)


def one():
    again_until("files after the first eight are not read", lambda: walk("a", 8), lambda: are_read("a", NAMES[8:AHEAD]))


def several():
    one()
    more = those_read("a", NAMES[8 + AHEAD:]) + those_read("b", NAMES)
    if more:
        sys.exit(f"fail: more is read than what comes next: {more}")
    again_until("the next directory is not read", to_the_next, lambda: are_read("b", NAMES[:AHEAD]))
    at_random()
    again_until("a walk after a shuffle", lambda: walk("d", 8), lambda: are_read("d", NAMES[8:AHEAD]))
    found = set(those_read("c", NAMES)) - set(NAMES[::5])
    if found:
        sys.exit(f"fail: a shuffle is taken for a walk: {found}")
    again_until("a walk that pauses", with_a_pause, lambda: are_read("e", NAMES[AHEAD + 8:AHEAD + 32]))


globals()[sys.argv[2]]()
