# SPDX-License-Identifier: MIT
"""Rows about versions on one volume: a swap under readers, and publishing a tree of which
one file in a hundred changed."""
import json
import shutil
import subprocess
import sys
import time

import machine
import measure
import trees
import volumes
from machine import Trouble, sh

READERS = 4


def image_of(setting):
    """Our image with the tree as version v1, and as v2 with a hundredth of the files changed; v1 is current."""
    return volumes.image_of(setting.programs, "datasetfs-versions", setting.folder, setting.about)


def switch_time(setting, name):
    """From the command, after --prepare, to its return; and the longest that any reader
    waited for one file meanwhile."""
    row, mountpoint = setting.row, setting.mountpoint
    with machine.loop_device(image_of(setting), True) as device:
        setting.drop_caches()
        with volumes.contestant(name).mounted(setting.programs, device, mountpoint):
            before = volumes.own_stats(mountpoint)["requests"]
            with readers(setting) as results:
                sh(setting.programs.datasetfsctl, "switch", "--prepare", mountpoint, "v2")
                cpu, begun = machine.busy_cpu(), time.monotonic()
                said = json.loads(sh(setting.programs.datasetfsctl, "switch", "--json", mountpoint, "v2"))
                ended, cpu = time.monotonic(), machine.busy_cpu() - cpu
                time.sleep(0.3)
            after = volumes.own_stats(mountpoint)["requests"]
    reads = sum(result["reads"] for result in results)
    if not reads:
        raise Trouble(f"{row.name} {name}: nothing was read during the switch")
    stall = max([took for result in results for start, took in result["slow"]
                 if start < ended and start + took > begun], default=0.0)
    return {"count": reads, "bytes": 0, "seconds": ended - begun, "value": said["switch_us"] / 1e3, "cpu": cpu,
            "command_ms": (ended - begun) * 1e3, "stall_ms": stall * 1e3,
            "requests": sum(after.values()) - sum(before.values())}


class readers:
    """Processes that read random files while the block runs; gives a list that is filled at its end."""

    def __init__(self, setting):
        self.words = [sys.executable, setting.programs.here / "stall.py", setting.mountpoint, setting.folder / "list"]
        self.processes, self.results = [], []

    def __enter__(self):
        for number in range(READERS):
            self.processes.append(subprocess.Popen([*map(str, self.words), str(number)], stdin=subprocess.PIPE,
                                                   stdout=subprocess.PIPE, text=True))
        for process in self.processes:
            process.stdout.readline()
        return self.results

    def __exit__(self, kind, *_):
        try:
            for process in self.processes:
                out, _ = process.communicate("end\n", timeout=60)
                if kind is None and process.returncode:
                    raise Trouble(f"a reader ended with status {process.returncode}")
                if kind is None:
                    self.results.append(json.loads(out))
        finally:
            for process in self.processes:
                process.kill()
                process.wait()


def publish_trusting(setting, name):
    if name == "find":
        return clocked(setting, "find", setting.source, "-printf", "%s %T@\n")
    image = image_of(setting)
    # A file that another round put back has another time of change than in v1, and must not be younger than base.
    time.sleep(3)
    sh(setting.programs.mkdatasetfs, "--progress", "none", "--no-current", "--trust-mtime=v1", "--label", "base", image,
       setting.source)
    try:
        return publish(setting, "--trust-mtime=base")
    finally:
        subprocess.run([setting.programs.datasetfsctl, "remove", image, "base"], check=True, capture_output=True)


def publish_reading(setting, name):
    if name == "tar":
        return clocked(setting, "sh", "-c", 'tar -C "$1" -cf - . | cat >/dev/null', "tar", setting.source)
    return publish(setting)


def clocked(setting, *words):
    """A program that looks at the tree as a publish must."""
    before, begun = machine.busy_cpu(), time.perf_counter()
    subprocess.run([str(word) for word in words], stdout=subprocess.DEVNULL, check=True)
    seconds = time.perf_counter() - begun
    return {"count": setting.about["files"], "bytes": 0, "seconds": seconds, "value": seconds,
            "cpu": machine.busy_cpu() - before}


def publish(setting, *options):
    """A version with other files changed than v2 has, which is removed again. The source is warm."""
    image = image_of(setting)
    with trees.changed(setting.folder, setting.seed) as changed_bytes:
        before, begun = machine.busy_cpu(), time.perf_counter()
        said = json.loads(sh(setting.programs.mkdatasetfs, "--progress", "none", "--json", "--no-current",
                             "--label", "next", *options, image, setting.source))
        sh("sync", image)
        seconds, cpu = time.perf_counter() - begun, machine.busy_cpu() - before
    subprocess.run([setting.programs.datasetfsctl, "remove", image, "next"], check=True, capture_output=True)
    return {"count": setting.about["files"], "bytes": said["content_bytes"], "seconds": seconds, "value": seconds,
            "cpu": cpu, "cpu_us_per_file": cpu * 1e6 / setting.about["files"], "changed_bytes": changed_bytes,
            "read_bytes": said["read_bytes"], "written_bytes": said["written_bytes"],
            "index_bytes": said["index_bytes"],
            "written_share": (said["written_bytes"] - said["index_bytes"]) / said["content_bytes"]}


def compact(setting, name):
    """Segments that are mostly dead are emptied in a copy of the image; dd copies as many bytes as that moves."""
    image = volumes.image_of(setting.programs, "datasetfs-holes", setting.folder, setting.about)
    copy, program = setting.folder / "compact.img", setting.programs.datasetfsctl
    moved = json.loads(sh(program, "compact", "--dry-run", "--json", image))["moved_bytes"]
    command = [program, "compact", "--json", copy]
    if name == "dd":
        command = ["dd", f"if={image}", f"of={copy}", "bs=4M", f"count={moved}", "iflag=direct,count_bytes",
                   "oflag=direct", "conv=fsync"]
    try:
        if name != "dd":
            shutil.copyfile(image, copy)
            sh("sync", copy)
        setting.drop_caches()
        before, begun = machine.busy_cpu(), time.perf_counter()
        peak, printed = measure.peak_memory(command)
        seconds, cpu = time.perf_counter() - begun, machine.busy_cpu() - before
    finally:
        copy.unlink(missing_ok=True)
    freed = {} if name == "dd" else {"freed_bytes": json.loads(printed)["freed_bytes"]}
    return {"count": moved, "bytes": moved, "seconds": seconds, "value": seconds, "cpu": cpu, "peak_mib": peak / 1024,
            "moved_bytes": moved, **freed}
