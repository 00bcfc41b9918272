# SPDX-License-Identifier: MIT
"""Rows of a cache on a drive of the machine: a mount whose cache is full, holds half, is being filled, or fails."""
import contextlib
import dataclasses
import os
import pathlib
import shutil
import time

import machine
import measure
import volumes
from machine import Trouble

SPARE = 700 << 20  # bytes of the drive's filesystem beside twice the data: XFS has 300 MiB at least
PASSES = 50        # epochs in which a cache is filled: what its drive was too slow for comes in the next one
PATIENCE = 120     # s until what was read is written
OTHER_SEEDS = 1000  # of the orders in which it is filled
HELD = 0.999       # of the reads, by a full cache
# Variant → what the cache holds of the data when the clock starts; None: its size is not limited.
FILLED = {"tier": None, "filling": 0, "half": 0.5, "lost": None}


@contextlib.contextmanager
def drive(setting):
    """(folder for a cache, device below it), a filesystem of its own: on a device like the volume's, or on the disk."""
    row, work = setting.row, setting.programs.work
    if not shutil.which("mkfs.xfs"):
        raise Trouble("mkfs.xfs is not installed")
    with contextlib.ExitStack() as stack:
        in_memory = row.memory and not row.drive_on_disk
        place = stack.enter_context(machine.memory_folder(work / "drive")) if in_memory else work
        file, mountpoint = place / "drive.img", work / "tier"
        stack.callback(file.unlink, missing_ok=True)
        with open(file, "wb") as out:
            out.truncate(SPARE + 2 * setting.about["bytes"] + 8192 * setting.about["files"])
        machine.sh("mkfs.xfs", "-q", file)
        device = stack.enter_context(machine.loop_device(file, True, False))
        mountpoint.mkdir(exist_ok=True)
        machine.sh("mount", "-t", "xfs", "-o", "noatime,nouuid", device, mountpoint)
        stack.callback(machine.unmount, mountpoint)
        folder = mountpoint / "cache"
        folder.mkdir(mode=0o700)
        yield folder, device


def cached(setting, field):
    return volumes.own_stats(setting.mountpoint)[f"local_cache_{field}"]


def reads(setting):
    """(of the volume, of the cache), as the mount counts them."""
    return volumes.own_stats(setting.mountpoint)["device_reads"], cached(setting, "hits")


def settle(setting):
    """Waits until nothing more of what was read is written."""
    deadline, before = time.monotonic() + PATIENCE, None
    while (now := (cached(setting, "fills"), cached(setting, "dropped"))) != before:
        if time.monotonic() > deadline:
            raise Trouble(f"the cache is still being filled after {PATIENCE} s")
        before = now
        time.sleep(0.5)


def loaded(setting):
    """Waits until the table that was saved is loaded, which is done beside the mount."""
    deadline = time.monotonic() + PATIENCE
    while not cached(setting, "used"):
        if time.monotonic() > deadline:
            raise Trouble(f"nothing of the cache was loaded in {PATIENCE} s")
        time.sleep(0.05)


def fill(setting, name, contestant):
    """Reads whole epochs until one brings nothing new; the part of the reads that the cache then answers."""
    row = dataclasses.replace(setting.row, cap=None)
    for number in range(PASSES):
        # In the order in which they are measured, files would lie one behind the other.
        whole = dataclasses.replace(setting, seconds=None, row=row, seed=OTHER_SEEDS + setting.seed + number)
        setting.drop_caches()
        with contestant.mounted(setting.programs, setting.devices[name], setting.mountpoint) as pid:
            if number:
                loaded(setting)
            measure.clocked(whole, setting.devices[name], pid, measure.reader(whole, name, "files"))
            settle(setting)
            missed, hits = reads(setting)
            held = hits / max(1, missed + hits)
            if number and (held >= HELD or not cached(setting, "fills")):
                break
    return held


def prepared(setting, name, folder):
    """(contestant with its cache as the column wants it, the part of the files that is in it)."""
    variant, options = volumes.variant_of(name), [f"cache={folder}"]
    if FILLED[variant]:
        options.append(f"cache_size={int(FILLED[variant] * setting.about['bytes']) + (16 << 20)}")
    contestant = volumes.contestant(name).with_options(*options)
    if FILLED[variant] == 0:
        return contestant, 0
    held = fill(setting, name, contestant)
    if variant != "half" and held < HELD:
        raise Trouble(f"the cache answers {held:.3f} of the reads after {PASSES} epochs")
    return contestant, held


def lose(folder):
    """Every read of the cache is short from now on."""
    for data in pathlib.Path(folder).glob("*/data"):
        os.truncate(data, 0)


def with_cache(setting, name):
    volume, variant = setting.devices[name], volumes.variant_of(name)
    with drive(setting) as (folder, device):
        contestant, held = prepared(setting, name, folder)
        setting.drop_caches()
        with contestant.mounted(setting.programs, volume, setting.mountpoint) as pid, \
                setting.cap.held(device, setting.row.cap):
            if held:
                loaded(setting)
            if variant == "lost":
                lose(folder)
            before, counted = machine.device_reads(device)[0], reads(setting)
            result = measure.clocked(setting, volume, pid, measure.reader(setting, name, "files"))
            missed, hits = (after - first for after, first in zip(reads(setting), counted))
            result |= {"held": held, "tier_reads": machine.device_reads(device)[0] - before,
                       # Reads of the volume beyond those of files that the cache does not have.
                       "reads_more": missed / max(1, missed + hits) - (1 - held)}
    result["tier_reads_per_file"] = result["tier_reads"] / result["count"]
    return result


def read_tier(setting, name):
    """Files a second of a mount with a cache, or without one in the plain columns."""
    has_cache = volumes.variant_of(name) in FILLED
    result = with_cache(setting, name) if has_cache else measure.run_reader(setting, name, "files")
    measure.check_counts(setting, name, result, not setting.seconds)
    result["value"] = result["count"] / result["seconds"]
    result["p99_us"] = result["latency_us"]["p99"]
    return measure.per_file(result)
