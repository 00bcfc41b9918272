# SPDX-License-Identifier: MIT
"""Rows of reading ahead: a walk in the order of the tree, and shuffles that the mount was told of."""
import contextlib
import dataclasses
import os
import re
import resource
import subprocess
import time

import machine
import measure
import volumes
from machine import Trouble


def tar(setting, name):
    """tar of the whole mount; its output is counted by tar, which must have read every byte."""
    with measure.cold_mount(setting, name) as (device, pid), setting.cap.held(device, setting.row.cap):
        counters, cpu, begun = measure.Counters(setting, device, pid), children_cpu(), time.perf_counter()
        done = subprocess.run(["sh", "-c", "tar -C \"$1\" --totals -cf - . | cat >/dev/null", "sh", setting.mountpoint],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - begun
        result = counters.cost() | {"reader_cpu": children_cpu() - cpu, "seconds": seconds}
    check_archive(setting, name, done.stderr)
    result |= {"count": setting.about["files"], "bytes": setting.about["bytes"]}
    measure.check_counts(setting, name, result, True)
    result["value"] = result["count"] / seconds
    return measure.per_file(result)


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def check_archive(setting, name, said):
    found, expected = re.findall(r"Total bytes written: (\d+)", said), setting.about["tar_bytes"]
    if found != [str(expected)] or len(said.splitlines()) != 1:
        raise Trouble(f"{setting.row.name} {name}: tar wrote {found} bytes, not {expected}: {said.strip()[-400:]}")


# --- a shuffle that the mount was told of --------------------------------------------------------------------


@contextlib.contextmanager
def slow_device(setting, device, *more):
    """(a file with the bytes of the image behind a loop device, whose reads take so many µs longer; its process)."""
    backing = machine.read(f"/sys/block/{os.path.basename(device)}/loop/backing_file")
    file = setting.mountpoint.with_name("slow")
    file.touch()
    command = [setting.programs.slowfs, backing, file, str(setting.row.delay), *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            if process.stdout.readline().strip() != "ready":
                raise Trouble(f"slowfs: {process.stdout.read().strip()[-400:]}")
            yield file, process
        finally:
            process.terminate()
            process.wait()
            file.unlink()


def read_shuffled(setting, name):
    """One reader; what the slow device was read is not known by the file."""
    way = "prefetch" if volumes.variant_of(name) == "prefetch" else "plain"
    with slow_device(setting, setting.devices[name]) as (file, _):
        slow = dataclasses.replace(setting, devices={name: file})
        command = ["shuffled.py", setting.mountpoint, setting.folder / "list", setting.seconds or 0, setting.seed, way]
        result = measure.run_script(slow, name, *command)
    measure.check_counts(setting, name, result, not setting.seconds)
    result["value"] = result["count"] / result["seconds"]
    return measure.per_file(result)


def read_mixed(setting, name):
    """Several readers of an epoch, on a device that gives few reads a second."""
    way = volumes.variant_of(name) or "full"
    result = measure.run_script(setting, name, "blocks.py", setting.mountpoint, setting.folder / "list",
                                setting.seconds or 0, setting.seed, setting.row.threads, way)
    measure.check_counts(setting, name, result, not setting.seconds)
    result["value"] = result["count"] / result["seconds"]
    return measure.per_file(result)
