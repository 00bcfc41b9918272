# SPDX-License-Identifier: MIT
"""The guests' file system: busybox, the programs of the build with their libraries, kernel modules,
the first process."""
import os
import pathlib
import re
import shutil
import stat
import subprocess

from kernel import Missing

PROGRAMS = ("mkdatasetfs", "datasetfs", "datasetfsctl")
FOLDERS = ("bin", "dev", "etc", "lib64", "mnt", "modules", "proc", "run", "sys", "tmp", "usr", "usr/bin", "usr/lib",
           "var", "var/tmp")


def build(path, modules, scripts=(), tools=()):
    """Writes an initramfs to path. modules: in the order of loading. scripts, tools: files for /usr/bin,
    tools with their libraries."""
    source = pathlib.Path(os.environ["DATASETFS_SOURCE"])
    archive = Archive(path)
    for folder in FOLDERS:
        archive.folder(folder)
    for name in ("init", "commands"):
        archive.file(name, source / "tests/nvme" / name)
    archive.file("bin/busybox", busybox())
    for number, module in enumerate(modules):
        archive.file(f"modules/{number:02}-{module.name.partition('-')[2]}", module)
    programs = [*(program(name) for name in PROGRAMS), *map(pathlib.Path, tools)]
    for file in [*programs, *map(pathlib.Path, scripts)]:
        archive.file(f"usr/bin/{file.name}", file)
    for library in libraries(programs):
        archive.file(f"lib64/{library.name}" if library.name.startswith("ld-") else f"usr/lib/{library.name}", library)
    archive.end()


def program(name):
    path = shutil.which(name)
    if path is None:
        raise SystemExit(f"fail: {name} is not in PATH")
    return pathlib.Path(path)


def busybox():
    path = shutil.which("busybox")
    # ldd refuses what needs no loader.
    if path is None or subprocess.run(["ldd", path], capture_output=True, check=False).returncode == 0:
        raise Missing("no static busybox: package busybox-static")
    return pathlib.Path(path)


def libraries(programs):
    """The shared libraries of the programs, the loader among them."""
    found = set()
    for path in programs:
        listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
        found.update(re.findall(r"(/\S+) \(0x", listed))
    return [pathlib.Path(path) for path in sorted(found)]


class Archive:
    """A cpio archive as the kernel wants it ("newc"), not compressed: unpacking takes the guests time."""

    def __init__(self, path, mode="wb"):
        self.out = open(path, mode)
        self.inode = 0

    def entry(self, name, mode, data=b""):
        self.inode += 1
        encoded = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
        self.padded(b"070701" + b"".join(b"%08x" % field for field in fields) + encoded)
        self.padded(data)

    def padded(self, data):
        self.out.write(data + b"\0" * (-len(data) % 4))

    def folder(self, name):
        self.entry(name, stat.S_IFDIR | 0o755)

    def file(self, name, path):
        self.entry(name, stat.S_IFREG | 0o755, path.read_bytes())

    def end(self):
        self.entry("TRAILER!!!", 0)
        self.out.close()
