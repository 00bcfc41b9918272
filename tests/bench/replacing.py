# SPDX-License-Identifier: MIT
"""A row about readers of a mirrored volume, one member of which is replaced again and again while they read."""
import contextlib
import shutil
import subprocess
import threading

import machine
import measure
import volumes
from machine import Trouble

ROOM = 64 << 20  # bytes that a device has beside what a file holds: whole segments, and a reserve
WIPED = 8 << 20  # bytes at the begin of a device that was a member: superblocks, records, a catalogue


class Replacer(threading.Thread):
    """A former member takes the place of the one that took its own."""

    def __init__(self, programs, devices, spare):
        super().__init__()
        self.programs, self.devices, self.spare = programs, list(devices), spare
        self.ending, self.replaced, self.trouble = threading.Event(), 0, None

    def run(self):
        while not self.ending.is_set() and not self.trouble:
            self.replace()

    def replace(self):
        machine.sh("dd", "if=/dev/zero", f"of={self.spare}", "bs=1M", f"count={WIPED >> 20}", "oflag=direct")
        result = subprocess.run([self.programs.datasetfsctl, "member", "replace", "--json", ",".join(self.devices), "0",
                                 self.spare], capture_output=True, text=True, check=False)
        if result.returncode:
            self.trouble = result.stderr.strip()
            return
        self.devices[0], self.spare = self.spare, self.devices[0]
        self.replaced += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        self.ending.set()
        self.join()
        if kind is None and (self.trouble or not self.replaced):
            raise Trouble(f"replacing: {self.trouble or 'none was done'}")


def copied(stack, setting):
    """Loop devices over copies of the members in memory, and one more."""
    row = setting.row
    kind = volumes.image_kind("dev", row)
    image = volumes.image_of(setting.programs, kind, setting.folder, setting.about)
    folder = stack.enter_context(machine.memory_folder(setting.programs.work / "memory"))
    files = [folder / part.name for part in volumes.parts_of(kind, image)]
    for part, file in zip(volumes.parts_of(kind, image), files):
        shutil.copyfile(part, file)
    size = max(file.stat().st_size for file in files) + ROOM
    files.append(folder / "spare")
    for file in files:
        with open(file, "ab") as out:
            out.truncate(size)
    return [stack.enter_context(machine.loop_device(file, True, False)) for file in files]


def read_replacing(setting, name):
    """Files a second; in the variant of a column while members are replaced."""
    with contextlib.ExitStack() as stack:
        *devices, spare = copied(stack, setting)
        setting.devices[name] = ",".join(devices)
        device, pid = stack.enter_context(measure.cold_mount(setting, name))
        replacer = contextlib.nullcontext()
        if volumes.variant_of(name):
            replacer = Replacer(setting.programs, devices, spare)
        with replacer:
            result = measure.clocked(setting, device, pid, measure.reader(setting, name, "files"))
    if volumes.variant_of(name):
        result["replaced"] = replacer.replaced
    measure.check_counts(setting, name, result, not setting.seconds)
    result["value"] = result["count"] / result["seconds"]
    return measure.per_file(result)
