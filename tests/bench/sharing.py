# SPDX-License-Identifier: MIT
"""Rows about readers that share a device: two mounts of it, and a reader beside a tool that reads all of the volume."""
import contextlib
import dataclasses
import itertools
import pathlib
import subprocess
import threading
import time

import ahead
import machine
import measure
import volumes
from machine import Trouble

SETTLES = 3.0    # s in which windows find their size
HEAVY = 64       # threads of the other mount
CHANNELS = 16    # reads that the device serves at a time
JOBS = 64        # of a tool: more than are of use
PAUSE = 0.01     # s between two tries to end a program


@contextlib.contextmanager
def beside(command):
    """A program that runs meanwhile; it ends early only where it fails."""
    with subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def go(reader):
    if reader.stdout.readline().strip() != "ready":
        raise Trouble(f"reader: {reader.stderr.read().strip()[-400:]}")
    reader.stdin.write("go\n")
    reader.stdin.flush()


def read_shared(setting, name):
    """Files a second of the row's threads, while others read through a second mount of the device."""
    seconds, device = setting.seconds or 1, setting.devices[name]
    other = setting.mountpoint.with_name("other")
    other.mkdir(exist_ok=True)
    heavy = dataclasses.replace(setting, mountpoint=other, seconds=SETTLES + seconds + 60)
    light = dataclasses.replace(setting, seconds=seconds)
    with measure.cold_mount(light, name) as (_, pid), \
            volumes.contestant(name).mounted(setting.programs, device, other), \
            setting.cap.held(device, setting.row.cap), \
            beside(measure.reader(heavy, name, "files", threads=HEAVY)) as process:
        go(process)
        time.sleep(min(SETTLES, seconds))
        uncapped = dataclasses.replace(light, row=dataclasses.replace(light.row, cap=None))
        before = machine.device_reads(device)
        result = measure.clocked(uncapped, device, pid, measure.reader(uncapped, name, "files"))
        both = machine.device_reads(device)[0] - before[0]
    result["value"] = result["count"] / result["seconds"]
    result["unused"] = 1 - both / result["seconds"] / setting.row.cap
    return measure.per_file(result)


# --- beside a tool ------------------------------------------------------------------------------------------


class Device:
    """A slow device that serves so many reads at a time."""

    numbers = itertools.count()

    def __init__(self, control, process):
        self.control, self.process = pathlib.Path(control), process

    def answered(self):
        """How many reads it has answered by now."""
        word = f"count{next(self.numbers)}"
        self.control.write_text(word)
        return int(self.process.stdout.readline().partition("=")[2])


class Again(threading.Thread):
    """A program that is started again whenever it has ended."""

    def __init__(self, command):
        super().__init__()
        self.command, self.ending, self.trouble, self.process = command, False, None, None

    def run(self):
        while not self.ending and not self.trouble:
            with beside(self.command) as self.process:
                _, complaint = self.process.communicate()
            if self.process.returncode and not self.ending:
                self.trouble = complaint.strip()[-400:]

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        while self.is_alive():
            self.ending = True
            if self.process:
                self.process.kill()
            self.join(PAUSE)
        if kind is None and self.trouble:
            raise Trouble(f"{self.command[1]}: {self.trouble}")


def read_beside(setting, name):
    """The p99 of a reader that takes about half of what the device gives; in the variants of a column a tool reads the
    whole volume meanwhile."""
    control, verb = setting.mountpoint.with_name("control"), volumes.variant_of(name)
    control.write_text("")
    try:
        with ahead.slow_device(setting, setting.devices[name], control, str(CHANNELS)) as (file, process):
            result = beside_tool(dataclasses.replace(setting, devices={name: file}), name, verb,
                                 Device(control, process))
    finally:
        for path in (control, control.with_name(control.name + ".obeyed")):
            path.unlink(missing_ok=True)
    measure.check_counts(setting, name, result, not setting.seconds)
    result["value"] = result["latency_us"]["p99"]
    return measure.per_file(result)


def beside_tool(setting, name, verb, device):
    file, most = setting.devices[name], CHANNELS * 1e6 / setting.row.delay
    load = measure.reader(setting, name, "files", threads=CHANNELS, pause=setting.row.delay)
    tool = Again([setting.programs.datasetfsctl, verb, "--jobs", JOBS, file]) if verb else contextlib.nullcontext()
    with measure.cold_mount(setting, name) as (_, pid), tool:
        time.sleep(min(SETTLES, setting.seconds or 0))
        before, begun = device.answered(), time.perf_counter()
        result = measure.clocked(setting, file, pid, load)
        rate = (device.answered() - before) / (time.perf_counter() - begun)
    own = result["count"] / result["seconds"]
    return result | {"unused": (most - rate) / (most - own), "others": rate - own}
