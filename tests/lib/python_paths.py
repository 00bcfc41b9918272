# SPDX-License-Identifier: MIT
"""For fuse/python.sh: files of a mount by every spelling of their paths, beside open().

usage: python_paths.py FOLDER: mnt in it is the mount, which serves one and can switch to two."""
import os
import sys
import threading

import datasetfs


def plain(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        return type(error), error.errno, error.filename


def ours(path):
    try:
        return datasetfs.read(path)
    except OSError as error:
        return type(error), error.errno, error.filename


def check(what, found, expected):
    if found != expected:
        sys.exit(f"fail: {what}: found {found}, expected {expected}")


def spellings(top):
    for name in ("one", "sub/three", "sub/deep/four", "soft", "out", "none", "sub", "one/x", ".datasetfs/version",
                 "sub/../two", "../outside/file", "sub/../../outside/file", "./one", "sub//three", ""):
        yield f"{top}/mnt/{name}"
    yield from (f"{top}/link/two", f"{top}/below/three", f"{top}/below/deep/four", f"{top}/link/../outside/file",
                f"{top}/outside/file", f"{top}/none", "/proc/self/cmdline", os.fsencode(f"{top}/mnt/one"))


def check_all(top):
    paths = list(spellings(top))
    for path in paths:
        found, expected = ours(path), plain(path)
        if isinstance(expected, tuple):
            expected = (*expected[:2], os.fsdecode(path))
        check(path, found, expected)
    found = datasetfs.read_many(paths, errors="return")
    check("all at once", [bytes(item) if isinstance(item, memoryview) else type(item) for item in found],
          [item if isinstance(item, bytes) else item[0] for item in map(plain, paths)])
    try:
        datasetfs.read_many([f"{top}/mnt/one", f"{top}/mnt/none"])
    except FileNotFoundError as error:
        check("which file", error.filename, f"{top}/mnt/none")
    else:
        sys.exit("fail: a file that is not there was read")


def check_relative(top):
    os.chdir(f"{top}/mnt/sub")
    check("relative", (ours("three"), ours("deep/four"), ours("../one")), tuple(map(plain, ("three", "deep/four",
                                                                                             "../one"))))
    os.chdir(top)
    check("relative from elsewhere", ours("mnt/one"), plain("mnt/one"))


def check_many_threads(top):
    expected, failed = plain(f"{top}/mnt/one"), []

    def work():
        for _ in range(300):
            if datasetfs.read(f"{top}/mnt/one") != expected:
                failed.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    if (child := os.fork()) == 0:
        work()
        os._exit(len(failed))
    check("a child beside threads", os.waitpid(child, 0)[1], 0)
    for thread in threads:
        thread.join()
    check("threads", failed, [])


def check_switch(top):
    data, through = datasetfs.DataSet(f"{top}/mnt"), datasetfs.DataSet(f"{top}/mnt", way="mount")
    check("the way through the mount", through.reader.info.way, "mount")
    check("the same through it", [(through.path(place), through.id(place), item) for place, item in enumerate(through)],
          [(data.path(place), data.id(place), item) for place, item in enumerate(data)])
    check("part of it", list(datasetfs.DataSet(f"{top}/below")), list(datasetfs.DataSet(f"{top}/mnt", "sub")))
    check("a version by its directory", list(datasetfs.DataSet(f"{top}/mnt/.datasetfs/versions/two/sub")),
          list(datasetfs.DataSet(f"{top}/mnt", "sub", version="two")))
    views, before = datasetfs.read_many([f"{top}/mnt/one"]), list(data)
    datasetfs.Mount(f"{top}/mnt").switch("two")
    check("the next version", ours(f"{top}/mnt/one"), b"one of the second\n")
    check("many", bytes(datasetfs.read_many([f"{top}/mnt/sub/three"])[0]), b"sub/three of the second\n")
    check("views of the former", bytes(views[0]), b"one of the first\n")
    check("data sets stay", (list(data), list(through)), (before, before))
    check("until they are told", (data.refresh(), through.refresh(), list(data) == list(through) != before),
          (True, True, True))


def check_switches_under_readers(top):
    """Every file is of one of the versions, and all files of a call are of the same."""
    names, failed, done = ("one", "two", "sub/three", "sub/deep/four"), [], threading.Event()
    paths = [f"{top}/mnt/{name}" for name in names]
    known = [[f"{name} of the {which}\n".encode() for name in names] for which in ("first", "second")]

    def work():
        try:
            while not done.is_set():
                found = [bytes(view) for view in datasetfs.read_many(paths)]
                if found not in known or datasetfs.read(paths[0]) not in (known[0][0], known[1][0]):
                    failed.append(found)
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        for label in ("one", "two"):
            datasetfs.Mount(f"{top}/mnt").switch(label)
    done.set()
    for thread in threads:
        thread.join()
    check("what readers saw of 60 switches", failed[:3], [])


check_all(sys.argv[1])
check_relative(sys.argv[1])
check_many_threads(sys.argv[1])
check_switch(sys.argv[1])
check_switches_under_readers(sys.argv[1])
print(f"- {datasetfs.Reader(f'{sys.argv[1]}/mnt').info.way}, {datasetfs.library.calls().__name__}")
