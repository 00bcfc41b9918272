# SPDX-License-Identifier: MIT
"""Debian's kernels for the guests: a package is found, fetched and unpacked, never installed,
and kept below the build."""
import dataclasses
import lzma
import os
import pathlib
import re
import shutil
import struct
import subprocess

# The modules that the guests need; their dependencies are added, and those built into the kernel are left out.
MODULES = ("virtio_pci", "virtio_console", "virtio_net", "virtio_blk", "bridge", "nvmet", "nvmet_tcp", "nvme_core",
           "nvme_fabrics", "nvme_tcp", "fuse", "crc32c_generic")
# On top of that for the transports beside TCP: a loop, and RDMA over Ethernet without such a card.
TRANSPORTS = ("nvme_loop", "crc32_generic", "rdma_rxe", "nvmet_rdma", "nvme_rdma")
# And for authentication with Diffie-Hellman groups, and TLS: the ciphers as every release names them.
SECURITY = ("dh_generic", "hmac", "sha256_generic", "aes_generic", "aes", "ctr", "ghash_generic", "gcm", "ccm",
            "aesni_intel", "tls")
# And for dm-crypt, with the ciphers as every release names them; the one for AF_ALG is for cryptsetup. The last two are
# for a mount that the kernel serves.
CRYPT = ("dm_mod", "dm_crypt", "aes_generic", "aes", "ecb", "xts", "sha256_generic", "algif_skcipher", "aesni_intel",
         "loop", "erofs")
PARTS = {"transports": TRANSPORTS, "security": SECURITY, "crypt": CRYPT}
WANTED = " ".join(("vmlinux", *MODULES, *TRANSPORTS, *dict.fromkeys((*SECURITY, *CRYPT))))
# The release after this machine's, where the newest kernels are packaged.
NEXT = {"bookworm": "trixie", "trixie": "forky"}
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Missing(Exception):
    """What this machine lacks to run guests: the reason of a skip."""


@dataclasses.dataclass
class Kernel:
    """An unpacked kernel; modules are files in the order in which they can be loaded."""
    architecture: str
    release: str
    image: pathlib.Path
    modules: list
    transports: list
    security: list
    crypt: list


def prepare(kind, cache, flavour="amd64"):
    """The kernel "stable" (the one this Debian release installs), "next" (that of the release after it) or "newest"
    (backports of that one). flavour: the end of its package's name, which begins with the architecture."""
    architecture = flavour.partition("-")[0]
    kept = pathlib.Path(cache) / (kind if flavour == "amd64" else f"{kind}-{flavour}")
    wanted = kept / "wanted"
    if not wanted.is_file() or wanted.read_text() != WANTED:
        fresh = kept.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        packages = Archive(kind, fresh / "apt", architecture).fetch(f"linux-image-{flavour}")
        unpack(packages, fresh / "tree")
        keep(fresh / "tree", fresh)
        for folder in ("apt", "tree"):
            shutil.rmtree(fresh / folder)
        shutil.rmtree(kept, ignore_errors=True)
        fresh.rename(kept)
    return Kernel(architecture, (kept / "release").read_text(), kept / "vmlinux",
                  *(sorted((kept / part).glob("*.ko")) for part in ("modules", *PARTS)))


# --- the package ---------------------------------------------------------------------------------------


class Archive:
    """The package archive that this machine uses, with lists of our own: the system's state stays as it is."""

    def __init__(self, kind, folder, architecture="amd64"):
        self.folder, self.architecture = folder.resolve(), architecture
        for name in ("lists/partial", "cache/archives/partial", "packages"):
            (self.folder / name).mkdir(parents=True)
        if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
            raise Missing("no apt-get: kernels come as Debian packages")
        (self.folder / "sources.list").write_text("".join(self.sources(kind)))
        self.apt("apt-get", "update", "-q")

    def sources(self, kind):
        """Lines for sources.list: the Debian repositories of this machine, or others beside its main one."""
        form = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
        ours = {}
        for line in run("apt-get", "indextargets", "--no-release-info", "--format", form,
                        "Created-By: Packages").splitlines():
            uri, release, component = line.split()
            if release.split("-")[0] in NEXT and component == "main":
                ours[release] = uri
        base = next((release for release in ours if release in NEXT), None)
        if base is None:
            raise Missing(f"no Debian release in the sources of apt: {' '.join(ours) or 'none'}")
        if kind != "stable":
            ours = {NEXT[base] + ("-backports" if kind == "newest" else ""): ours[base]}
        signed = f"[signed-by={KEYRING}] " if os.path.exists(KEYRING) else ""
        return [f"deb {signed}{uri} {release} main\n" for release, uri in ours.items()]

    def apt(self, program, *words):
        options = {"Dir::Etc::sourcelist": self.folder / "sources.list", "Dir::Etc::sourceparts": "/dev/null",
                   "Dir::State::lists": self.folder / "lists", "Dir::Cache": self.folder / "cache",
                   "Dir::State::status": "/dev/null", "APT::Architecture": self.architecture,
                   "APT::Architectures": self.architecture, "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
                   "Acquire::Retries": "2", "Acquire::http::Timeout": "20"}
        given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        return run(program, *given, *words, folder=self.folder / "packages")

    def fetch(self, package):
        """The files of the package and of what it depends on that belongs to the kernel."""
        found = self.apt("apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts",
                         "--no-breaks", "--no-replaces", "--no-enhances", package)
        wanted = set(re.findall(r"^(linux-(?:image|binary|modules)-\S+)$", found, re.MULTILINE)) - {package}
        if not wanted:
            raise Missing(f"the package {package} depends on no kernel")
        self.apt("apt-get", "download", "-q", *sorted(wanted))
        return sorted((self.folder / "packages").glob("*.deb"))

    def fetch_with_needs(self, packages):
        """The files of the packages and of all that they depend on, as for a machine that has none."""
        self.apt("apt-get", "install", "-q", "--yes", "--no-install-recommends", "--download-only",
                 "-o", "Debug::NoLocking=1", *packages)
        return sorted((self.folder / "cache/archives").glob("*.deb"))


def run(program, *words, folder=None):
    """Runs a program of the package system to its end; its last complaint is the reason of the skip."""
    done = subprocess.run([program, *map(str, words)], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, env=dict(os.environ, LC_ALL="C"))
    complaints = [line for line in done.stderr.splitlines()
                  if line.startswith(("E:", "Err:", "W: Failed", "dpkg-deb: error"))]
    if done.returncode or complaints:
        lines = complaints or done.stderr.splitlines() or [f"exit {done.returncode}"]
        raise Missing(f"no package: {lines[-1]}")
    return done.stdout


def unpack(packages, tree):
    for package in packages:
        run("dpkg-deb", "-x", package, tree)
        package.unlink()


# --- what of it is kept --------------------------------------------------------------------------------


def keep(tree, folder):
    """Copies the image and the modules out of an unpacked package: vmlinux, release,
    modules/NN-NAME.ko, and a folder for each part."""
    image = next(iter(sorted(tree.rglob("vmlinuz*"))), None)
    modules = next(iter(sorted(tree.rglob("lib/modules/*/kernel"))), None)
    if image is None or modules is None:
        raise Missing(f"the kernel package has no {'modules' if image else 'vmlinuz'}")
    (folder / "vmlinux").write_bytes(decompress(image.read_bytes()))
    always = in_order(modules, MODULES)
    for part, names in {"modules": (), **PARTS}.items():
        (folder / part).mkdir()
        for number, (name, data) in enumerate(in_order(modules, MODULES + names).items()):
            if (name in always) == (part == "modules"):
                (folder / part / f"{number:02}-{name}.ko").write_bytes(data)
    (folder / "release").write_text(modules.parent.name)
    (folder / "wanted").write_text(WANTED)


def decompress(image):
    """The kernel within a compressed image for x86, which a guest would spend a quarter of its boot on. Its place is in
    the header of the image, see Documentation/arch/x86/boot.rst; four bytes behind it have its size."""
    if image[0x202:0x206] != b"HdrS":
        return image
    setup_sectors, (offset, length) = image[0x1f1], struct.unpack_from("<II", image, 0x248)
    begin = (setup_sectors + 1) * 512 + offset
    payload = image[begin:begin + length - 4]
    if payload.startswith(b"\xfd7zXZ"):
        return lzma.decompress(payload)
    if shutil.which("zstd") is None:
        raise Missing("no zstd: package zstd")
    return subprocess.run(["zstd", "-dc"], input=payload, stdout=subprocess.PIPE, check=True).stdout


def in_order(folder, wanted):
    """Name → bytes of the modules wanted and of those they need, which come first."""
    files = {path.name.split(".ko")[0].replace("-", "_"): path for path in folder.rglob("*.ko*")}
    taken = {}

    def take(name):
        name = name.replace("-", "_")
        if name in taken or name not in files:
            return
        data = files[name].read_bytes()
        if files[name].suffix == ".xz":
            data = lzma.decompress(data)
        for other in needs(data):
            take(other)
        taken[name] = data

    for name in wanted:
        take(name)
    return taken


def needs(module):
    """Names of the modules that must be there first, from the module's own section .modinfo."""
    listed = re.search(rb"\0depends=([^\0]*)", module)
    before = re.findall(rb"\0softdep=pre: ([^\0]*)", module)
    words = (listed.group(1).split(b",") if listed else []) + b" ".join(before).split()
    return [word.decode() for word in words if word]
