# SPDX-License-Identifier: MIT
"""tlshd, which shakes hands for the kernel's TLS: that of the next Debian release with its libraries, as this one has
none."""
import pathlib
import shutil

import kernel
from initramfs import Archive
from root import Tree

LIBRARIES = "usr/lib/x86_64-linux-gnu"
PROGRAM = "usr/sbin/tlshd"
START = f"/tls/{LIBRARIES}/ld-linux-x86-64.so.2 --library-path /tls/{LIBRARIES} /tls/{PROGRAM} -s -c /etc/tlshd.conf"
CONF = "[debug]\nloglevel=1\n[authenticate]\nkeyrings=.nvme\n"


def prepare(cache):
    """An archive to append to an initramfs, with everything below /tls; kept below the cache."""
    kept = pathlib.Path(cache) / "tlshd"
    if not kept.is_file():
        fresh = kept.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        tree = Tree()
        for package in kernel.Archive("next", fresh / "apt").fetch_with_needs(["ktls-utils"]):
            tree.package(package)
        write(tree, fresh / "archive")
        (fresh / "archive").rename(kept)
        shutil.rmtree(fresh)
    return kept


def write(tree, path):
    archive = Archive(path)
    archive.folder("tls")
    for name, (mode, data) in sorted(tree.entries.items()):
        if f"{LIBRARIES}/".startswith(f"{name}/") or name.startswith(f"{LIBRARIES}/") or name in ("usr/sbin", PROGRAM):
            archive.entry(f"tls/{name}", mode, data)
    archive.end()
