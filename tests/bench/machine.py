# SPDX-License-Identifier: MIT
"""The machine that is measured on: programs, caches, counters, loop devices, the cap on device reads."""
import contextlib
import fcntl
import functools
import json
import os
import pathlib
import platform
import shutil
import subprocess
import time

TICK = os.sysconf("SC_CLK_TCK")
ENABLE_URING = pathlib.Path("/sys/module/fuse/parameters/enable_uring")
HUGE_PAGES = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
CPUIDLE = pathlib.Path("/sys/devices/system/cpu/cpuidle")
HALT_POLL = pathlib.Path("/sys/module/haltpoll/parameters/guest_halt_poll_ns")
PACKAGES = ("fio", "xfsprogs", "erofs-utils", "squashfs-tools", "findutils", "util-linux", "openssh-client")


class Trouble(Exception):
    """What cannot be measured, and why; its text is for the reader of the table."""


def sh(*command):
    """Runs a program to its end and gives what it printed; its complaints are in the Trouble when it fails."""
    command = [str(word) for word in command]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise Trouble(f"{' '.join(command)}: exit {done.returncode}: {' / '.join(last)}")
    return done.stdout


def read(path, otherwise=""):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return otherwise


def has_filesystem(name):
    def known():
        return any(line.split()[-1] == name for line in read("/proc/filesystems").splitlines())
    if not known() and shutil.which("modprobe"):
        subprocess.run(["modprobe", name], stderr=subprocess.DEVNULL, check=False)
    return known()


def drop_caches():
    """Only what is clean goes; images were written to the disk when they were made. Not while a test needs what the
    machine has cached (hold_caches in tests/lib/common.sh)."""
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as caches:
        fcntl.flock(caches, fcntl.LOCK_SH)
        caches.write("3\n")


# --- counters -----------------------------------------------------------------------------------------


def busy_cpu():
    """Seconds that all CPUs together were busy since boot, without waiting for I/O and stolen time."""
    user, nice, system, _idle, _iowait, irq, softirq = map(int, read("/proc/stat").split("\n")[0].split()[1:8])
    return (user + nice + system + irq + softirq) / TICK


def cache_drops():
    """How often caches were dropped since boot, by anybody."""
    return [line for line in read("/proc/vmstat").splitlines() if line.startswith("drop_")]


def process_cpu(pid):
    fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK if fields else 0.0


def devices_of(volume):
    """The devices of a volume, which is called by a list of them."""
    return str(volume).split(",")


def reads_by_device(volume):
    """(reads, bytes) that each device of a volume completed; None for what is none."""
    found = [read(f"/sys/block/{os.path.basename(device)}/stat").split() for device in devices_of(volume)]
    return [(int(fields[0]), int(fields[2]) * 512) for fields in found] if all(found) else None


def device_reads(volume):
    """The same of all together."""
    found = reads_by_device(volume)
    return tuple(map(sum, zip(*found))) if found else None


# --- loop devices -------------------------------------------------------------------------------------


@contextlib.contextmanager
def loop_device(file, direct, read_only=True):
    """A loop device over the file; requests as large as the device takes, for everybody the same."""
    switches = [f"--direct-io={'on' if direct else 'off'}", *(["--read-only"] if read_only else [])]
    device = sh("losetup", "--find", "--show", *switches, file).strip()
    try:
        queue = pathlib.Path(f"/sys/block/{os.path.basename(device)}/queue")
        most = min(1280, int(read(queue / "max_hw_sectors_kb", "128")))
        (queue / "max_sectors_kb").write_text(f"{most}\n")
        yield device
    finally:
        detach(device)


def detach(device):
    """Ends a loop device. While somebody has it open, such as a daemon that was just unmounted or udev,
    it only begins to end."""
    backing = pathlib.Path(f"/sys/block/{os.path.basename(device)}/loop/backing_file")
    ours = read(backing)
    for _ in range(1200):  # a busy machine lets the daemon and udev wait for long
        if read(backing) != ours:  # it has ended; somebody else may have taken it since
            return
        subprocess.run(["losetup", "-d", device], stderr=subprocess.DEVNULL, check=False)
        time.sleep(0.05)
    raise Trouble(f"{device} stays in use")


def unmount(mountpoint):
    """Elsewhere on the machine somebody may look at the mount or copy the mount table for a moment: tried again."""
    for left in range(100, -1, -1):
        try:
            return sh("umount", mountpoint)
        except Trouble:
            if not left:
                raise
            time.sleep(0.05)


@contextlib.contextmanager
def memory_folder(where):
    """A tmpfs of our own; what lies in it is lost at the end."""
    where.mkdir(parents=True, exist_ok=True)
    sh("mount", "-t", "tmpfs", "-o", "size=90%", "datasetfs-bench", where)
    try:
        yield where
    finally:
        unmount(where)


def memory_available():
    for line in read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


# --- the cap on device reads ----------------------------------------------------------------------------


class Cap:
    """At most so many reads a second from a device, for this process's cgroup: readers and daemons run in it."""

    def __init__(self):
        groups = dict(line.split(":", 2)[1:] for line in read("/proc/self/cgroup").splitlines())
        self.file, self.pattern, self.off = None, "", ""
        self._version_1(groups.get("blkio")) or self._version_2(groups.get(""))

    def _version_1(self, group):
        top = pathlib.Path("/sys/fs/cgroup/blkio")
        if group is None or not self._mounted(top, "cgroup"):
            return False
        self.file = top / group.lstrip("/") / "blkio.throttle.read_iops_device"
        self.pattern, self.off = "{device} {limit}", "{device} 0"
        return self.file.exists()

    def _version_2(self, group):
        """Only a group below the root has io.max."""
        self.file = None
        if group:
            file = pathlib.Path("/sys/fs/cgroup") / group.lstrip("/") / "io.max"
            self.file = file if file.exists() else None
            self.pattern, self.off = "{device} riops={limit}", "{device} riops=max"
        return self.file is not None

    @staticmethod
    def _mounted(top, kind):
        def find():
            return any(line.split()[1] == str(top) and line.split()[2] == kind and "blkio" in line.split()[3]
                       for line in read("/proc/mounts").splitlines())
        if not find() and top.is_dir():
            subprocess.run(["mount", "-t", kind, "-o", "blkio", kind, top],
                           stderr=subprocess.DEVNULL, check=False)
        return find()

    @contextlib.contextmanager
    def held(self, volume, limit):
        """On each device of a volume. limit None: no cap."""
        if not limit:
            yield
            return
        if not self.file:
            raise Trouble("no cgroup here that can limit reads (blkio of version 1, io.max of version 2)")
        numbers = [read(f"/sys/block/{os.path.basename(device)}/dev") for device in devices_of(volume)]
        try:
            for number in numbers:
                self.file.write_text(self.pattern.format(device=number, limit=limit) + "\n")
            yield
        finally:
            for number in numbers:
                self.file.write_text(self.off.format(device=number) + "\n")


# --- programs -------------------------------------------------------------------------------------------


def install(root):
    sh(root / "contrib/install-packages", "build")
    sh(root / "contrib/install-packages", "--names", *PACKAGES)


class Programs:
    """Ours, built for release unless a build is given, and the loads."""

    def __init__(self, root, work, build):
        if build is None:
            build = work / "build"
            if not (build / "build.ninja").exists():
                sh("meson", "setup", build, root, "--buildtype=release", "-Dtests=false")
            sh("ninja", "-C", build)
        self.datasetfs = build / "src/datasetfs"
        self.mkdatasetfs = build / "mkfs/mkdatasetfs"
        self.datasetfsctl = build / "tools/datasetfsctl"
        self.run = build / "tools/datasetfs-run"
        for program in (self.datasetfs, self.mkdatasetfs, self.datasetfsctl):
            if not program.exists():
                raise Trouble(f"no program '{program}': is '{build}' a build folder?")
        self.root, self.work, self.here, self.build = root, work, root / "tests/bench", build
        self.libraries = build / "src/lib"

    def missing_run(self):
        """Why no unchanged program can be started; None when one can."""
        library = self.build / "src/preload/libdatasetfs-preload.so"
        return None if library.exists() else f"no '{library}'"

    @functools.cached_property
    def environment(self):
        """The Python package, with its extension where the build has one, and the library that it loads."""
        package = self.work / "python/datasetfs"
        shutil.rmtree(package, ignore_errors=True)
        package.mkdir(parents=True)
        for file in (*(self.root / "contrib/python/datasetfs").glob("*.py"), *self.build.glob("contrib/*.abi3.so")):
            (package / file.name).symlink_to(file)
        return {"PYTHONPATH": str(package.parent), "DATASETFS_LIBRARY": str(self.libraries)}

    @functools.cached_property
    def reader(self):
        return self._compiled("reader", self.here / "reader.c", self.here / "load.c")

    @functools.cached_property
    def library(self):
        return self._compiled("library", self.here / "library.c", self.here / "load.c", f"-I{self.root / 'include'}",
                              f"-L{self.libraries}", f"-Wl,-rpath,{self.libraries}", "-ldatasetfs")

    @functools.cached_property
    def slowfs(self):
        flags = sh("pkg-config", "--cflags", "--libs", "fuse3").split()
        return self._compiled("slowfs", self.root / "tests/lib/slowfs.c", *flags, "-lm")

    def _compiled(self, name, *words):
        program = self.work / name
        sh("cc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-pthread", "-o", program, *words)
        return program


# --- the statement --------------------------------------------------------------------------------------


def cpu_model():
    for line in read("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def holder(work):
    """Device and type of the filesystem with the work folder."""
    try:
        return sh("findmnt", "-n", "-o", "SOURCE,FSTYPE", "--target", work).split()[:2]
    except Trouble:  # in a chroot the mount is not in the list
        number = work.stat().st_dev
        device = pathlib.Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
        return f"/dev/{device.resolve().name}" if device.exists() else "?", sh("stat", "-f", "-c", "%T", work).strip()


def disk(work):
    """The device below the work folder: what holds the images."""
    source, filesystem = holder(work)
    result = {"source": source, "filesystem": filesystem}
    try:
        found = json.loads(sh("lsblk", "-J", "-d", "-o", "MODEL,ROTA,SCHED,LOG-SEC,SIZE", source))
        result.update(found["blockdevices"][0])
    except Trouble:
        pass  # a filesystem without a device of its own
    return result


def idle():
    """How CPUs wait that have nothing to do: in a virtual machine it decides what waking a thread costs."""
    governor = read(CPUIDLE / "current_governor", "none")
    polls = read(HALT_POLL, "") if governor == "haltpoll" else ""
    return f"{governor}, guest_halt_poll_ns={polls}" if polls else governor


def describe(work):
    return {
        "kernel": platform.release(), "cpus": os.cpu_count(), "cpu_model": cpu_model(),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "disk": disk(work), "load_average": os.getloadavg(), "enable_uring": read(ENABLE_URING, "absent"),
        "idle": idle(), "huge_pages": read(HUGE_PAGES, "[never]").partition("[")[2].partition("]")[0],
        "fio": sh("fio", "--version").strip(), "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "python": platform.python_version(),
    }
