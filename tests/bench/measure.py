# SPDX-License-Identifier: MIT
"""One measurement: a fresh mount with cold caches, the load, and what it cost; one function a kind of row."""
import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import machine
import volumes
from machine import Trouble, sh


@dataclasses.dataclass
class Setting:
    """What a measurement of one row needs."""
    row: object
    programs: machine.Programs
    folder: pathlib.Path       # of the tree
    about: dict
    mountpoint: pathlib.Path
    cap: machine.Cap
    seconds: float | None      # None: to the end
    devices: dict              # contestant → loop device
    seed: int = 1
    cold: bool = True          # else only the mount is fresh: enough to see that it works
    by_volume: bool = False    # the library opens the volume, not the mount

    drops: list = dataclasses.field(default_factory=list)  # how often caches were dropped, with our own

    def drop_caches(self):
        if self.cold:
            machine.drop_caches()
        self.drops = machine.cache_drops()

    @property
    def source(self):
        return self.folder / "tree"

    def where(self, name):
        """What the load of this column opens."""
        return self.devices[name] if volumes.base_of(name) == "lib" and self.by_volume else self.mountpoint

    def threads(self, name):
        last = volumes.variant_of(name).rpartition("-")[2]
        return int(last) if last.isdigit() else self.row.threads


class Counters:
    """Differences of the machine's counters from its making to cost()."""

    def __init__(self, setting, device, pid):
        self.device, self.mountpoint, self.pid, self.drops = device, setting.mountpoint, pid, setting.drops
        first = self._requests()
        self.requests = self._requests()
        # The requests that reading the counters takes.
        self.own = {name: count - first.get(name, 0) for name, count in self.requests.items()}
        self.cpu, self.daemon = machine.busy_cpu(), machine.process_cpu(pid) if pid else 0.0
        self.reads = machine.reads_by_device(device)

    def _requests(self):
        return volumes.own_stats(self.mountpoint)["requests"] if self.pid else {}

    def cost(self):
        cost = {"cpu": machine.busy_cpu() - self.cpu, "disturbed": machine.cache_drops() != self.drops}
        if self.reads:
            grown = [(reads - before[0], size - before[1])
                     for before, (reads, size) in zip(self.reads, machine.reads_by_device(self.device))]
            counts, sizes = zip(*grown)
            cost |= {"device_reads": sum(counts), "device_bytes": sum(sizes)}
            if len(counts) > 1:
                cost |= {"reads_by_member": counts, "busiest": max(counts) * len(counts) / max(1, sum(counts))}
        if self.pid:
            cost["daemon_cpu"] = machine.process_cpu(self.pid) - self.daemon
            found = {name: count - self.requests.get(name, 0) - self.own.get(name, 0)
                     for name, count in self._requests().items()}
            cost["requests_by_name"] = {name.lower(): count for name, count in found.items() if count > 0}
            cost["requests"] = sum(cost["requests_by_name"].values())
            cost["checksum_failures"] = volumes.own_stats(self.mountpoint)["checksum_failures"]
        return cost


def per_file(result):
    """Adds what is looked at per file, block or entry."""
    count = max(1, result["count"])
    for name in ("device_reads", "requests"):
        if name in result:
            result[{"device_reads": "reads_per_file"}.get(name, "requests_per_file")] = result[name] / count
    if "requests_by_name" in result:
        result["read_requests_per_file"] = result["requests_by_name"].get("read", 0) / count
    if "cpu" in result:
        result["cpu_us_per_file"] = result["cpu"] * 1e6 / count
    if "reader_cpu" in result:
        result["own_cpu_us_per_file"] = (result["reader_cpu"] + result.get("daemon_cpu", 0)) * 1e6 / count
    if result.get("bytes") and "device_bytes" in result:
        result["device_bytes_per_byte"] = result["device_bytes"] / result["bytes"]
    return result


def last_of(file):
    file.seek(0)
    return file.read().strip()[-400:]


def clocked(setting, device, pid, command):
    """Runs a program that says "ready", waits for a line and prints its result; counts what happens between."""
    with tempfile.TemporaryFile("w+", errors="replace") as complaint, subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaint,
            env=os.environ | setting.programs.environment, text=True) as process:
        try:
            if process.stdout.readline().strip() != "ready":
                raise Trouble(f"{command[0]}: {last_of(complaint)}")
            with setting.cap.held(device, setting.row.cap):
                counters = Counters(setting, device, pid)
                process.stdin.write("go\n")
                process.stdin.flush()
                line = process.stdout.readline()
                cost = counters.cost()
            if process.wait() or not line:
                raise Trouble(f"{command[0]}: {last_of(complaint)}")
        finally:
            process.kill()
    return json.loads(line) | cost


@contextlib.contextmanager
def cold_mount(setting, name):
    """(device, pid of our daemon): nothing of the volume is in any cache but what mounting brings."""
    device = setting.devices[name]
    setting.drop_caches()
    contestant = volumes.contestant(name, by_volume=setting.by_volume)
    with contestant.mounted(setting.programs, device, setting.mountpoint) as pid:
        yield device, pid


def check_counts(setting, name, result, complete):
    """A figure counts only when everything was read."""
    about = setting.about
    whole = complete or result["count"] == about["files"]
    if whole and (result["count"], result["bytes"]) != (about["files"], about["bytes"]):
        raise Trouble(f"{setting.row.name} {name}: read {result['count']} files with {result['bytes']} bytes, "
                      f"expected {about['files']} with {about['bytes']}")
    if result["count"] <= 0 or result["seconds"] <= 0:
        raise Trouble(f"{setting.row.name} {name}: nothing was read")
    if result.get("checksum_failures"):
        raise Trouble(f"{setting.row.name} {name}: {result['checksum_failures']} checksum failures")
    through = result.get("requests_by_name", {}).get("read", 0)
    # Each process asks the mount for its daemon.
    if volumes.base_of(name) == "run" and through > 10 + 2 * setting.row.threads + result["count"] / 100:
        raise Trouble(f"{setting.row.name} {name}: {through} of {result['count']} files were read through the mount")


def reader(setting, name, mode, **options):
    row = setting.row
    options = {"threads": setting.threads(name), "walk": row.walk, "buffer": row.buffer, "seed": setting.seed,
               "seconds": setting.seconds or 0} | options
    command = [setting.programs.reader, mode, setting.mountpoint, setting.folder / "list", *option_words(options)]
    return volumes.started(setting.programs, name, command)


def option_words(options):
    return sum(([f"--{key}", value] for key, value in options.items()), [])


def run_reader(setting, name, mode, **options):
    with cold_mount(setting, name) as (device, pid):
        return clocked(setting, device, pid, reader(setting, name, mode, **options))


# --- the kinds of rows -----------------------------------------------------------------------------------


def read_files(setting, name):
    if name == "fio":
        latency = setting.row.unit == "µs"
        return fio(setting, "randread", mean_read(setting), setting.row.threads, latency)
    result = run_reader(setting, name, "files")
    check_counts(setting, name, result, not setting.seconds)
    rate = result["count"] / result["seconds"]
    result["value"] = result["latency_us"]["p50"] if setting.row.unit == "µs" else rate
    return per_file(result)


def read_blocks(setting, name):
    if name == "fio":
        return fio(setting, "randread", setting.row.buffer, setting.row.threads)
    result = run_reader(setting, name, "preads")
    if result["bytes"] != result["count"] * setting.row.buffer:
        raise Trouble(f"{setting.row.name} {name}: {result['count']} reads gave {result['bytes']} bytes")
    result["value"] = result["count"] / result["seconds"]
    return per_file(result)


def read_sequential(setting, name):
    if name == "fio":
        return fio(setting, "read", setting.row.buffer, 4)
    result = run_reader(setting, name, "files", seconds=0)
    check_counts(setting, name, result, True)
    result["value"] = result["bytes"] / result["seconds"] / 1e6
    return per_file(result)


def run_script(setting, name, script, *words):
    script = [sys.executable, "-B", setting.programs.here / script]
    command = volumes.started(setting.programs, name, [*script, *words])
    with cold_mount(setting, name) as (device, pid):
        return clocked(setting, device, pid, command)


def read_python(setting, name):
    result = run_script(setting, name, "epoch.py", setting.mountpoint, setting.row.threads, setting.seconds or 0)
    check_counts(setting, name, result, not setting.seconds)
    result["value"] = result["count"] / result["seconds"]
    return per_file(result)


def read_imagefolder(setting, name):
    need_torch()
    result = run_script(setting, name, "imagefolder.py", setting.mountpoint, setting.row.threads)
    check_counts(setting, name, result | {"bytes": setting.about["bytes"]}, True)
    result["value"] = result["count"] / result["seconds"]
    return per_file(result)


def need_torch():
    probe = [sys.executable, "-c", "import torch, torchvision"]
    if subprocess.run(probe, stderr=subprocess.DEVNULL, check=False).returncode:
        raise Trouble(f"{sys.executable} has no torch and torchvision: Debian's python3-torch and python3-torchvision"
                      " are for '/usr/bin/python3 tests/bench/run'")


def find(setting, name):
    with cold_mount(setting, name) as (device, pid):
        counters, begun = Counters(setting, device, pid), time.perf_counter()
        lines = sh("sh", "-c", "find \"$1\" -mindepth 1 -printf '%s %T@ %p\\n' | wc -l", "sh", setting.mountpoint)
        seconds = time.perf_counter() - begun
        result = counters.cost() | {"count": int(lines), "bytes": 0, "seconds": seconds, "value": seconds}
    if result["count"] != setting.about["entries"]:
        raise Trouble(f"find on {name} listed {result['count']} entries, expected {setting.about['entries']}")
    return per_file(result)


def mount_time(setting, name):
    reads = machine.device_reads(setting.devices[name])
    setting.drop_caches()
    before, begun = machine.busy_cpu(), time.perf_counter()
    with volumes.contestant(name).mounted(setting.programs, setting.devices[name], setting.mountpoint) as pid:
        os.stat(setting.mountpoint)
        seconds = time.perf_counter() - begun
        cpu = machine.busy_cpu() - before
        daemon = machine.process_cpu(pid) if pid else None
        after = machine.device_reads(setting.devices[name])
    result = {"count": 1, "bytes": 0, "seconds": seconds, "value": seconds, "cpu": cpu, "mount_cpu": daemon,
              "device_reads": after[0] - reads[0], "device_bytes": after[1] - reads[1]}
    if name in volumes.OURS:
        listed = json.loads(sh(setting.programs.datasetfsctl, "list", "--json", setting.devices[name]))
        result["index_bytes_per_file"] = listed["versions"][0]["index_bytes"] / setting.about["files"]
    return result


def pack(setting, name, is_warm=True):
    """A fresh image; the time until it is on the disk."""
    image, source = setting.folder / "packed.img", setting.source
    ours = [setting.programs.mkdatasetfs, "--progress", "none"]
    commands = {"mkdatasetfs": [*ours, image, source],
                "mkdatasetfs-random": [*ours, *volumes.PACKED["datasetfs-random"], image, source],
                "mkdatasetfs-sha256": [*ours, *volumes.PACKED["datasetfs-sha256"], image, source],
                "mkfs.erofs": volumes.erofs_command("erofs", image, source),
                "mkfs.erofs-noinline": volumes.erofs_command("erofs-noinline", image, source),
                "mksquashfs": volumes.squashfs_command(image, source)}
    image.unlink(missing_ok=True)
    if is_warm:
        warm(source)
    else:
        setting.drop_caches()
    try:
        before, begun = machine.busy_cpu(), time.perf_counter()
        peak, _ = peak_memory(commands[volumes.without_build(name)])
        sh("sync", image)
        seconds = time.perf_counter() - begun
        cpu = machine.busy_cpu() - before
        return {"count": setting.about["files"], "bytes": setting.about["bytes"], "seconds": seconds, "value": seconds,
                "cpu": cpu, "cpu_us_per_file": cpu * 1e6 / setting.about["files"], "peak_mib": peak / 1024,
                "image_bytes": image.stat().st_blocks * 512}
    finally:
        image.unlink(missing_ok=True)


def pack_cold(setting, name):
    return pack(setting, name, is_warm=False)


def memory_of(pid):
    """The most memory that a process held up to now, in KiB; 0 when it has ended."""
    for line in machine.read(f"/proc/{pid}/status").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def warm(source):
    sh("sh", "-c", "tar -C \"$1\" -cf - . | cat >/dev/null", "warm", source)


def peak_memory(command):
    """Runs a program; the most memory that it held, in KiB, looked at until it ends, and what it printed."""
    peak = 0
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as complaint, subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=printed, stderr=complaint) as process:
        while process.poll() is None:
            peak = max(peak, memory_of(process.pid))
            time.sleep(0.01)
        texts = [(file.seek(0), file.read().decode(errors="replace"))[1] for file in (printed, complaint)]
    if process.returncode:
        raise Trouble(f"{command[0]}: exit {process.returncode}: {''.join(texts)[-400:]}")
    return peak, texts[0]


# --- the raw limit -----------------------------------------------------------------------------------------


def mean_read(setting):
    """What a device read of a file has on average, in sectors."""
    return max(512, round(setting.about["device_mean"] / 512) * 512)


def fio(setting, pattern, size, depth, latency=False, jobs=1):
    """The device itself: O_DIRECT, of this size at this depth."""
    device = setting.devices["fio"]
    seconds = min(setting.seconds or setting.row.limit or 5, 10)
    setting.drop_caches()
    with setting.cap.held(device, setting.row.cap):
        before, reads = machine.busy_cpu(), machine.device_reads(device)
        out = sh("fio", "--name=raw", f"--filename={':'.join(machine.devices_of(device))}", f"--rw={pattern}",
                 f"--bs={size}", "--blockalign=4096", "--direct=1", f"--ioengine={setting.row.engine}",
                 f"--iodepth={depth}", f"--runtime={seconds * 1000:.0f}ms", "--time_based", "--readonly",
                 "--norandommap", f"--randseed={setting.seed}", f"--numjobs={jobs}", "--group_reporting",
                 "--output-format=json")
        after, cpu = machine.device_reads(device), machine.busy_cpu() - before
    job = json.loads(out[out.index("{"):])["jobs"][0]["read"]
    percentiles = job["clat_ns"]["percentile"]
    result = {"count": job["total_ios"], "bytes": job["io_bytes"], "seconds": job["runtime"] / 1e3, "cpu": cpu,
              "device_reads": after[0] - reads[0], "device_bytes": after[1] - reads[1],
              "latency_us": {name: percentiles[key] / 1e3 for name, key in
                             (("p50", "50.000000"), ("p90", "90.000000"), ("p99", "99.000000"))}}
    rate = job["io_bytes"] / result["seconds"] / 1e6 if pattern == "read" else job["iops"]
    result["value"] = result["latency_us"]["p50"] if latency else rate
    return per_file(result)


def cap_check(setting, seconds):
    """What fio reads from each device under the row's cap: it must be the same for everybody."""
    found = {}
    for device in machine.devices_of(",".join(dict.fromkeys(setting.devices.values()))):
        with setting.cap.held(device, setting.row.cap):
            out = sh("fio", "--name=cap", f"--filename={device}", "--rw=randread", "--bs=4096", "--direct=1",
                     "--ioengine=io_uring", "--iodepth=64", f"--runtime={seconds * 1000:.0f}ms", "--time_based",
                     "--readonly", "--norandommap", "--output-format=json")
        names = "/".join(name for name, its in setting.devices.items() if device in machine.devices_of(its))
        if setting.row.members > 1:
            names += f" on {os.path.basename(device)}"
        found[names] = json.loads(out[out.index("{"):])["jobs"][0]["read"]["iops"]
    return found
