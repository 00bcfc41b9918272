#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once queue=fabric in=none timeout=5400
"""A build for AArch64 in a guest whose memory pages have 16 KiB: a tree that is packed there gives the bytes that it
gives here, is read on both channels, by datasetfs-run and from Python, and the unit tests pass."""
import hashlib
import json
import os
import pathlib
import subprocess

import kernel
import root
from fabric import Machine, check, check_contains, main, make_tree, pack_sources, say, wait_for
from guest import need_qemu

PAGE = 16384
UUID = "01234567-89ab-cdef-0123-456789abcdef"
WHEN = 1700000000  # every time in the tree
PACKAGES = ("busybox-static", "libc-bin", "python3-minimal", "libpython3.11-stdlib", "libarchive13", "libblkid1",
            "libcmocka0", "libexpat1", "libfuse3-3", "libjson-c5", "liblmdb0", "libncursesw6", "libnvme1",
            "libssl3", "liburing2", "libzstd1")
UNIT_SECONDS = 600  # of one test, as the processor is emulated
PYTHON = """
import datasetfs, datasetfs.library, os
data = datasetfs.DataSet("/mnt")
wrong = [data.path(i) for i in range(len(data)) if data[i] != open("/src/tree/" + data.path(i), "rb").read()]
print(datasetfs.library.calls().__name__, len(data), wrong)
"""


def cross_build():
    """The folder of a root that has the build."""
    script = pathlib.Path(os.environ["DATASETFS_SOURCE"]) / "tests/lib/cross-build"
    done = subprocess.run([script, "root"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == 77:
        raise kernel.Missing(done.stdout.strip().removeprefix("skip: "))
    if done.returncode:
        raise SystemExit(done.stdout)
    return pathlib.Path("root")


def initramfs(path, built, modules, cache):
    tree = root.Tree()
    for package in kernel.Archive("stable", cache / "aarch64-apt", "arm64").fetch_with_needs(PACKAGES):
        tree.package(package)
    source = built / "source"
    for name in ("init", "commands"):
        tree.add(name, (source / "tests/nvme" / name).read_bytes(), 0o755)
    for number, module in enumerate(modules):
        tree.add(f"modules/{number:02}-{module.name.partition('-')[2]}", module.read_bytes())
    root.installed(tree, built / "installed")
    tests = [path for path in (built / "build/tests/unit").glob("test-*") if path.is_file()]
    for test in tests:
        tree.add(f"unit/{test.name}", test.read_bytes(), 0o755)
    for record in (source / "tests/lib").glob("*.sysfs"):
        tree.add(f"source/tests/lib/{record.name}", record.read_bytes())
    tree.write(path)
    return sorted(test.name for test in tests)


def same_times(folder):
    for path in [*pathlib.Path(folder).rglob("*"), pathlib.Path(folder)]:
        os.utime(path, (WHEN, WHEN))


def packs(worker):
    """The same bytes as here."""
    subprocess.run(["mkdatasetfs", "--progress", "none", "--uuid", UUID, "here", "tree"], check=True)
    worker.run("mkdir /src && tar -xf /dev/vda -C /src && "
               f"find /src/tree -exec touch -d @{WHEN} {{}} + && cd /tmp && "
               f"mkdatasetfs --progress none --uuid {UUID} there /src/tree", limit=600)
    check("the volume", worker.run("sha256sum /tmp/there").split()[0],
          hashlib.sha256(pathlib.Path("here").read_bytes()).hexdigest())
    check_contains("verify", worker.run("datasetfsctl verify /tmp/there", limit=600), "damaged=0")


def reads(worker, channel):
    worker.run(f"datasetfs -o channel={channel} /tmp/there /mnt", limit=600)
    stats = json.loads(worker.run("cat /mnt/.datasetfs/stats.json"))
    check("channel", stats["channel"], channel)
    check("differences", worker.run("diff -r /src/tree /mnt", limit=600), "")
    worker.run("for file in $(cd /src/tree && find . -type f | head -n 20); do "
               "datasetfs-run cat /mnt/$file | cmp - /src/tree/$file || exit; done", limit=600)
    files = sum(path.is_file() for path in pathlib.Path("tree").rglob("*"))
    check("from Python", worker.run(f"PYTHONPATH=/usr/share/datasetfs/python python3 -c '{PYTHON}'", limit=600),
          f"datasetfs._fast {files} []\n")
    if channel == "dev":
        worker.run(f"kill -KILL {stats['server_pid']}; echo 3 >/proc/sys/vm/drop_caches")
        check("differences after a kill", worker.run("diff -r /src/tree /mnt", limit=600), "")
    worker.run("umount /mnt")
    wait_for("the end of the daemon", lambda: not worker.run("pidof datasetfs || true"))
    say(f"read on {channel}")


def unit_tests(worker, names):
    for name in names:
        worker.run(f"cd /tmp && /unit/{name} >unit.log 2>&1 || {{ cat unit.log; exit 1; }}", limit=UNIT_SECONDS)
    say(f"{len(names)} unit tests passed")


def scenarios():
    need_qemu("arm64")
    cache = pathlib.Path(os.environ["DATASETFS_BUILD"]) / "nvme-kernels"
    built = cross_build()
    say("built")
    its_kernel = kernel.prepare("newest", cache, "arm64-16k")
    names = initramfs("initramfs", built, its_kernel.modules, pathlib.Path("packages"))
    same_times(make_tree("tree", seed=1))
    pack_sources({"tree": "tree"})
    worker = Machine("aarch64", its_kernel, "initramfs", 11, ["sources.tar"], cpus=2, memory=2048)
    try:
        worker.wait_ready()
        check("the size of a page", worker.run("python3 -c 'import mmap; print(mmap.PAGESIZE)'").strip(), str(PAGE))
        say(f"a guest with Linux {its_kernel.release}")
        packs(worker)
        worker.run("echo Y >/sys/module/fuse/parameters/enable_uring")
        for channel in ("dev", "ring"):
            reads(worker, channel)
        unit_tests(worker, names)
    except Exception:
        worker.keep_logs()
        raise
    finally:
        worker.stop()


main(scenarios)
