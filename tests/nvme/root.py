# SPDX-License-Identifier: MIT
"""The file system of a guest whose first process is systemd: packages of this machine's Debian release, read out and
never configured, then the build as it would be installed."""
import io
import os
import pathlib
import posixpath
import shutil
import stat
import subprocess
import tarfile

import kernel
from initramfs import Archive, busybox, libraries

PACKAGES = ("base-files", "base-passwd", "bash", "coreutils", "dash", "grep", "sed", "diffutils", "util-linux", "mount",
            "procps", "systemd", "systemd-sysv", "udev", "dbus", "libpam-systemd")
LEFT_OUT = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/zoneinfo",
            "usr/share/i18n", "usr/share/perl", "usr/lib/udev/hwdb.d", "usr/lib/x86_64-linux-gnu/gconv",
            "usr/lib/x86_64-linux-gnu/perl", "usr/lib/x86_64-linux-gnu/perl-base")
MERGED = ("bin", "sbin", "lib", "lib64")  # links to what has the same name below /usr
# A machine that was booted before, so that nothing is set up for the first time.
TEXTS = {
    "etc/machine-id": "00000000000040008000000000000001\n",
    "etc/hostname": "systemd\n",
    # A session as one of a login, but for the password.
    **{f"etc/pam.d/{name}": f"{name.split('-')[-1]} sufficient pam_permit.so\n"
       for name in ("common-auth", "common-account", "common-password")},
    "etc/pam.d/common-session": "session required pam_systemd.so\n",
    "etc/pam.d/common-session-noninteractive": "session required pam_permit.so\n",
    "usr/lib/systemd/system/commands.service":
        "[Unit]\nDescription=Commands of the test\n\n[Service]\nExecStart=/commands\nKillMode=process\n",
}
WANTED = repr((PACKAGES, LEFT_OUT, TEXTS))
INIT = """#!/bin/busybox sh
for module in /modules/*; do
    /bin/busybox insmod "$module" || echo "init: ${module##*/} was refused"
done
/bin/busybox hostname systemd
exec /lib/systemd/systemd
"""


class Tree:
    """Paths → what is there: a mode, bytes, and the target of a link. Everything belongs to root."""

    def __init__(self):
        self.entries = {}
        for name in MERGED:
            self.folder(f"usr/{name}")
            self.entries[name] = (stat.S_IFLNK | 0o777, f"usr/{name}".encode())
        for name in ("dev", "proc", "run", "sys", "mnt", "root"):
            self.folder(name)
        self.folder("tmp", 0o1777)

    def place(self, name):
        """The path of a file in a package, where /bin and others are links."""
        name = posixpath.normpath(name).lstrip("/")
        return f"usr/{name}" if name.split("/")[0] in MERGED else name

    def folder(self, name, mode=0o755):
        if name and name != ".":
            self.folder(posixpath.dirname(name))
            self.entries.setdefault(name, (stat.S_IFDIR | mode, b""))

    def add(self, name, data, mode=0o644):
        name = self.place(name)
        self.folder(posixpath.dirname(name))
        self.entries[name] = (mode if stat.S_IFMT(mode) else stat.S_IFREG | mode, data)

    def package(self, path):
        """All files of a package."""
        bytes_of = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(bytes_of)) as members:
            for member in members:
                name = self.place(member.name)
                if name in MERGED or name.startswith(LEFT_OUT):
                    continue
                if member.isdir():
                    self.folder(name, member.mode)
                elif member.issym():
                    self.add(name, member.linkname.encode(), stat.S_IFLNK | 0o777)
                elif member.islnk():
                    self.add(name, *reversed(self.entries[self.place(member.linkname)]))
                elif member.isfile():
                    self.add(name, members.extractfile(member).read(), member.mode)

    def write(self, path, how="wb", there=()):
        """there: names of folders and links that are left out."""
        archive = Archive(path, how)
        for name, (mode, data) in sorted(self.entries.items()):
            if stat.S_ISREG(mode) or name not in there:
                archive.entry(name, mode, data)
        archive.end()


def unpacked(folder):
    """The packages, and what they would make when they are configured."""
    tree = Tree()
    for package in kernel.Archive("stable", folder).fetch_with_needs(PACKAGES):
        tree.package(package)
    for name in ("passwd", "group"):
        tree.add(f"etc/{name}", tree.entries[f"usr/share/base-passwd/{name}.master"][1])
    for name, text in TEXTS.items():
        tree.add(name, text.encode())
    return tree


def base(cache):
    """A file with the packages as an initramfs, kept below the cache; and the paths in it."""
    kept = pathlib.Path(cache) / "systemd"
    wanted = kept / "wanted"
    if not wanted.is_file() or wanted.read_text() != WANTED:
        fresh = kept.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        tree = unpacked(fresh / "apt")
        tree.write(fresh / "base")
        (fresh / "names").write_text("\n".join(sorted(tree.entries)))
        (fresh / "wanted").write_text(WANTED)
        shutil.rmtree(fresh / "apt")
        shutil.rmtree(kept, ignore_errors=True)
        fresh.rename(kept)
    return kept / "base", set((kept / "names").read_text().splitlines())


def installed(tree, folder):
    """What 'meson install' has put into a folder."""
    for path in sorted(pathlib.Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            tree.add(name, os.readlink(path).encode(), stat.S_IFLNK | 0o777)
        elif path.is_file() and not name.startswith(("usr/share/doc", "usr/include")):
            tree.add(name, path.read_bytes(), path.stat().st_mode & 0o777)


def build(path, cache, modules, tools=(), texts=None):
    """Writes an initramfs to path: packages, modules in the order of loading, what the build installs, and tools for
    /usr/bin with their libraries. texts: name → text of further files."""
    below, names = base(cache)
    source, built = (pathlib.Path(os.environ[f"DATASETFS_{name}"]) for name in ("SOURCE", "BUILD"))
    tree = Tree()
    tree.add("init", INIT.encode(), 0o755)
    tree.add("commands", (source / "tests/nvme/commands").read_bytes(), 0o755)
    tree.add("usr/bin/busybox", busybox().read_bytes(), 0o755)
    tree.add("etc/systemd/system/multi-user.target.wants/commands.service",
             b"/usr/lib/systemd/system/commands.service", stat.S_IFLNK | 0o777)
    for number, module in enumerate(modules):
        tree.add(f"modules/{number:02}-{module.name.partition('-')[2]}", module.read_bytes())
    installed(tree, built / "root")
    for tool in map(pathlib.Path, tools):
        tree.add(f"usr/bin/{tool.name}", tool.read_bytes(), 0o755)
    programs = [built / "root/usr" / name for name in ("bin/datasetfs", "bin/datasetfsctl", "bin/datasetfs-exporter",
                                                   "sbin/mkdatasetfs")]
    for library in libraries([*programs, *tools]):
        if tree.place(str(library)) not in names:
            tree.add(str(library), library.read_bytes(), 0o755)
    for name, text in (texts or {}).items():
        tree.add(name, text.encode())
    shutil.copyfile(below, path)
    tree.write(path, "ab", names)  # the kernel unpacks one archive after the other
