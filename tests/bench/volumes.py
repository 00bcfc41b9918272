# SPDX-License-Identifier: MIT
"""The contestants: how each packs a tree into an image, and how it is mounted from a loop device."""
import contextlib
import copy
import fcntl
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import time

import machine
import shards
import trees
from machine import Trouble, sh


class Kernel:
    """A filesystem of the kernel, mounted read-only."""

    pid = None

    def __init__(self, name, program, options="ro", image=None):
        self.name, self.image, self.program, self.options = name, image or name, program, options

    def missing(self, _programs, _work):
        """Why it cannot take part; None when it can."""
        if not shutil.which(self.program):
            return f"no program '{self.program}'"
        return None if machine.has_filesystem(self.name) else f"the kernel has no {self.name}"

    @contextlib.contextmanager
    def mounted(self, _programs, device, mountpoint):
        sh("mount", "-t", self.name, "-o", self.options, device, mountpoint)
        try:
            yield None
        finally:
            machine.unmount(mountpoint)


class Ours:
    """datasetfs on one of its channels, with further options."""

    def __init__(self, channel, compress=None, options=(), image="datasetfs"):
        self.channel, self.options = channel, ",".join((f"channel={channel}", *options))
        self.image = "datasetfs-zstd" if compress else image

    def with_options(self, *more):
        other = copy.copy(self)
        other.options = ",".join((self.options, *more))
        return other

    def missing(self, programs, work):
        if not os.path.exists("/dev/fuse"):
            return "no /dev/fuse"
        probe, source, mountpoint = work / "probe.dsfs", work / "probe", work / "mnt"
        source.mkdir(exist_ok=True)
        mountpoint.mkdir(exist_ok=True)
        probe.unlink(missing_ok=True)
        sh(programs.mkdatasetfs, "--progress", "none", "--allow-empty", probe, source)
        try:
            with self.mounted(programs, probe, mountpoint):
                return None
        except (Trouble, OSError) as error:
            return str(error)
        finally:
            probe.unlink()
            source.rmdir()

    @contextlib.contextmanager
    def mounted(self, programs, device, mountpoint):
        """Gives the number of the process that serves."""
        with uring_enabled(self.channel == "ring"):
            sh(programs.datasetfs, "-o", self.options.format(work=programs.work), device, mountpoint)
            stats = own_stats(mountpoint)
        try:
            if stats["channel"] != self.channel:
                raise Trouble(f"asked for channel={self.channel}, the daemon took {stats['channel']}")
            yield stats["server_pid"]
        finally:
            machine.unmount(mountpoint)
            wait_end(stats["pid"])


class OursByKernel:
    """A version that the kernel serves by itself; nothing in it may be compressed. follows: a process of ours stays."""

    image = "datasetfs"

    def __init__(self, follows=False):
        self.follows = follows

    def missing(self, _programs, _work):
        return None if machine.has_filesystem("erofs") else "the kernel has no erofs"

    @contextlib.contextmanager
    def mounted(self, programs, device, mountpoint):
        sh(programs.datasetfs, "-o", "kernel,follow=current:1" if self.follows else "kernel", device, mountpoint)
        try:
            if self.follows:
                wait_watched()
            yield None
        finally:
            machine.unmount(mountpoint)


@contextlib.contextmanager
def uring_enabled(wanted):
    """FUSE over io_uring is off in the kernel by default; it is asked when a filesystem is mounted. The switch is one
    for the machine: the tests, and others who measure, wait for each other."""
    if not wanted:
        yield
        return
    with open(machine.ENABLE_URING, encoding="utf-8") as lock:
        if "DATASETFS_RING_LOCKED" not in os.environ:
            fcntl.flock(lock, fcntl.LOCK_EX)
        before = machine.read(machine.ENABLE_URING)
        machine.ENABLE_URING.write_text("Y\n")
        try:
            yield
        finally:
            machine.ENABLE_URING.write_text(before + "\n")


def wait_watched():
    """Until the process that follows is told of what is opened; others that are on the machine do no harm."""
    deadline = time.monotonic() + 30
    while not any("fanotify sdev" in machine.read(info) for process in pathlib.Path("/proc").glob("[0-9]*")
                  if machine.read(process / "comm").startswith("datasetfs")
                  for info in list((process / "fdinfo").glob("*"))):
        if time.monotonic() > deadline:
            raise Trouble("the process that follows watches nothing")
        time.sleep(0.01)


def own_stats(mountpoint):
    with open(pathlib.Path(mountpoint) / ".datasetfs/stats.json", encoding="utf-8") as file:
        return json.load(file)


def wait_end(pid):
    deadline = time.monotonic() + 30
    while machine.read(f"/proc/{pid}/stat").rpartition(")")[2].split()[:1] not in ([], ["Z"]):
        if time.monotonic() > deadline:
            raise Trouble(f"the daemon (pid {pid}) runs on after its filesystem was unmounted")
        time.sleep(0.01)


# --- images --------------------------------------------------------------------------------------------


def pack_datasetfs(programs, source, image, *options):
    sh(programs.mkdatasetfs, "--progress", "none", *options, image, source)


MEMBERS = re.compile(r"datasetfs-(none|mirror:\d)-(\d+)")  # a kind of image: its protection, and how many members


def parts_of(kind, image):
    """The files of an image, one for each member of a volume."""
    members = MEMBERS.fullmatch(kind)
    count = int(members[2]) if members else 1
    return [image] if count == 1 else [image.with_suffix(f".{number}.img") for number in range(count)]


def size_of(kind, image):
    """What an image takes on the disk."""
    return sum(part.stat().st_blocks * 512 for part in parts_of(kind, image))


def thinned(where):
    """The paths of the tree's files but for 4 of 5 in 3 of 10 folders."""
    rng = random.Random("thinned")
    paths = (where / "list").read_text().splitlines()
    folders = sorted({path.split("/")[0] for path in paths})
    thin = {folder for number, folder in enumerate(folders) if number % 10 < 3}
    return [path for path in paths if path.split("/")[0] not in thin or rng.random() < 0.2]


def pack_holes(programs, source, image, about):
    """Version v2 without 4 of 5 files in 3 of 10 folders, and v1, which had them, removed:
    segments that are mostly dead."""
    kept = image.with_suffix(".kept")
    kept.write_text("".join(f"{path}\n" for path in thinned(source.parent)))
    segments = ("--segment-size", "16M" if about["bytes"] > 1 << 30 else "1M")
    pack_datasetfs(programs, source, image, "--label", "v1", *segments)
    pack_datasetfs(programs, source, image, "--label", "v2", "--trust-mtime", "--from-list", kept)
    kept.unlink()
    sh(programs.datasetfsctl, "remove", image, "v1")


def pack_xfs(source, image, entries, size):
    """XFS needs to be filled by copying; the file is sparse, with room for inodes and rounding."""
    with open(image, "wb") as file:
        file.truncate((512 << 20) + size + size // 8 + entries * 1024)
    sh("mkfs.xfs", "-q", image)
    mountpoint = image.with_suffix(".mnt")
    mountpoint.mkdir()
    sh("mount", "-t", "xfs", "-o", "loop", image, mountpoint)
    try:
        sh("cp", "-a", f"{source}/.", mountpoint)
    finally:
        machine.unmount(mountpoint)
        mountpoint.rmdir()


def pack_shards(source, image, about):
    """XFS again, with tar files."""
    folder = image.with_suffix(".tar")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shards.write(source, (source.parent / "list").read_text().splitlines(), about["bytes"], folder)
    pack_xfs(folder, image, 0, rounded_size(folder))
    shutil.rmtree(folder)


# Kind of image → what mkdatasetfs is told.
PACKED = {"datasetfs-random": ("--order", "random"), "datasetfs-sha256": ("--sums", "sha256"),
          "datasetfs-signed": ("--sums", "sha256", "--sign", "{work}/key")}
# Kind of image → what mkfs.erofs is told. By default the tail of a file lies in the block of its inode.
EROFS = {"erofs": (), "erofs-noinline": ("-Enoinline_data",)}


def erofs_command(kind, image, source):
    return ["mkfs.erofs", "--quiet", *EROFS[kind], image, source]


def squashfs_command(image, source):
    plain = ["-noI", "-noD", "-noF", "-noX"]
    return ["mksquashfs", source, image, *plain, "-noappend", "-quiet", "-no-progress"]


def rounded_size(source):
    """What the files take in blocks of 4 KiB."""
    return int(sh("du", "-s", "--block-size=1", source).split()[0])


def make_key(work):
    """A key that signs versions, and the file of those whose signatures count."""
    key = work / "key"
    if not key.exists():
        sh("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "bench", "-f", key)
    (work / "signers").write_text(f"bench {key.with_suffix('.pub').read_text()}")


def pack(programs, kind, source, image, about):
    members = MEMBERS.fullmatch(kind)
    if members:
        pack_datasetfs(programs, source, ",".join(map(str, parts_of(kind, image))), "--protect", members[1])
    elif kind == "datasetfs":
        pack_datasetfs(programs, source, image)
    elif kind == "datasetfs-zstd":
        pack_datasetfs(programs, source, image, "--compress", "zstd")
    elif kind in PACKED:
        if "--sign" in PACKED[kind]:
            make_key(programs.work)
        pack_datasetfs(programs, source, image, *(word.format(work=programs.work) for word in PACKED[kind]))
    elif kind == "datasetfs-versions":
        pack_datasetfs(programs, source, image, "--label", "v1")
        with trees.changed(source.parent, "v2"):
            pack_datasetfs(programs, source, image, "--label", "v2", "--no-current", "--trust-mtime")
    elif kind == "datasetfs-holes":
        pack_holes(programs, source, image, about)
    elif kind == "xfs":
        pack_xfs(source, image, about["entries"], rounded_size(source))
    elif kind == "shards":
        pack_shards(source, image, about)
    elif kind in EROFS:
        sh(*erofs_command(kind, image, source))
    else:
        sh(*squashfs_command(image, source))
    sh("sync", *parts_of(kind, image))


def made_from(programs, kind, about):
    """What an image depends on: the tree, and for ours the packer."""
    packer = hashlib.sha256(programs.mkdatasetfs.read_bytes()).hexdigest() if kind.startswith("datasetfs") else kind
    return json.dumps([about, packer])


def image_of(programs, kind, folder, about):
    """The path of an image of the tree in the folder, packed when it is not there; parts_of() has its files."""
    image, mark = folder / f"{kind}.img", folder / f"{kind}.made-from"
    if machine.read(mark) != made_from(programs, kind, about):
        mark.unlink(missing_ok=True)
        for part in parts_of(kind, image):
            part.unlink(missing_ok=True)
        pack(programs, kind, folder / "tree", image, about)
        mark.write_text(made_from(programs, kind, about))
    return image


class Unmounted:
    """The volume itself, which the library opens without a mount, or of which nothing is read at all."""

    image = "datasetfs"

    @contextlib.contextmanager
    def mounted(self, _programs, _device, _mountpoint):
        yield None


OURS = ("dev", "ring")
BEFORE = "before"  # the variant of one of ours that is an earlier build
# The variants of what reads or makes a volume that was packed otherwise, and their images.
OTHERWISE = {"random": "datasetfs-random", "joined": "datasetfs-random", "sha256": "datasetfs-sha256"}
# The variants of a mount.
OPTIONS = {"off": ("readahead=off",), "windowless": ("window=off",), "trust": ("trust={work}/signers",)}
CHILD = "child"  # the variant of 'run' that is preloaded as what a program starts is, without datasetfs-run itself
RIVALS = {
    "xfs": Kernel("xfs", "mkfs.xfs", "ro,noatime,nouuid"),
    "erofs": Kernel("erofs", "mkfs.erofs"),
    "erofs-noinline": Kernel("erofs", "mkfs.erofs", image="erofs-noinline"),
    "squashfs": Kernel("squashfs", "mksquashfs"),
    "shards": Kernel("xfs", "mkfs.xfs", "ro,noatime,nouuid", image="shards"),
}


def base_of(name):
    """A column is a contestant, or one in a variant: 'dev-off' is 'dev' without reading ahead, 'erofs-noinline-16' is
    'erofs' with the tails of files not inline, read by 16 threads."""
    return name.partition("-")[0]


def variant_of(name):
    return name.partition("-")[2]


def without_build(name):
    """The same column of today's build."""
    return name.removesuffix(f"-{BEFORE}")


def rival_of(name):
    """The rival of a column, in its layout."""
    return RIVALS[max((rival for rival in RIVALS if name == rival or name.startswith(rival + "-")), key=len)]


def started(programs, name, command):
    """The command of a load in this column: datasetfs-run starts an unchanged program."""
    if base_of(name) != "run":
        return command
    return [programs.run, *(["--compat"] if variant_of(name) == "compat" else []), "--", *command]


def contestant(name, compress=None, by_volume=False):
    """What a column mounts. The library, and programs with it, read past a mount on /dev/fuse."""
    base = base_of(name)
    if base == "carry" or (base == "lib" and by_volume):
        return Unmounted()
    if base in ("lib", "run"):
        return Ours("dev", compress, OPTIONS.get(variant_of(name), ()), OTHERWISE.get(variant_of(name), "datasetfs"))
    if base == "kernel":
        return OursByKernel(variant_of(name) == "follow")
    if base in OURS and variant_of(name) in OTHERWISE:
        return Ours(base, image=OTHERWISE[variant_of(name)])
    if base in OURS:
        return Ours(base, compress, OPTIONS.get(variant_of(name), ()))
    return rival_of(name)


def image_kind(name, row):
    """What a column reads in a row."""
    kind = contestant(name, row.compress).image
    kind = row.image if row.image and kind == "datasetfs" else kind
    protection = f"mirror:{row.copies}" if row.copies > 1 else "none"
    return f"datasetfs-{protection}-{row.members}" if row.members > 1 and kind == "datasetfs" else kind
