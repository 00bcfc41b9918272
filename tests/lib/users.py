# SPDX-License-Identifier: MIT
"""users.py KIND MOUNT: uses the version that is mounted now: by an open 'file', as the working 'directory', or by a
'mapping'. Says 'ready'; then for each line on standard input, until one is 'end', it reads what no cache has and says
what is in the files, all of which must agree: the version's label."""
import mmap
import os
import sys

def drop(file):
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


def fresh(path):
    """What is in a file, read from the mount."""
    with open(path, "rb") as file:
        drop(file.fileno())
        return file.read().split()[0]


def by_file():
    file = os.open("label", os.O_RDONLY)

    def look():
        drop(file)
        return os.pread(file, 4096, 0).split()[0]
    return look


def by_directory():
    os.chdir("names/deep")
    number = 0

    def look():
        nonlocal number
        number += 1  # a name that the kernel has not asked for
        labels = {fresh("label0"), fresh(f"label{number}"), fresh("../label")}
        assert len(labels) == 1, labels
        return labels.pop()
    return look


def by_mapping():
    with open("large", "rb") as file:
        view = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    with open("/proc/self/maps", encoding="ascii") as maps:
        # "deleted" says that its name was looked up anew meanwhile
        place = next(line.split()[0] for line in maps if line.rstrip().removesuffix(" (deleted)").endswith("/large"))

    def look():
        view.madvise(mmap.MADV_DONTNEED)
        file = os.open(f"/proc/self/map_files/{place}", os.O_RDONLY)
        drop(file)
        os.close(file)
        labels = set(view[:].split())
        assert len(labels) == 1, labels
        return labels.pop()
    return look


def main():
    os.chdir(sys.argv[2])
    look = {"file": by_file, "directory": by_directory, "mapping": by_mapping}[sys.argv[1]]()
    if sys.argv[1] != "directory":
        os.chdir("/")
    print("ready", flush=True)
    for line in sys.stdin:
        if line == "end\n":
            break
        print(look().decode(), flush=True)


main()
