# SPDX-License-Identifier: MIT
"""Rows of what it costs an unchanged program to start with the library in it."""
import os
import statistics
import time

import measure
import volumes
from machine import Trouble, sh

STARTS = 200  # of one measurement


def start_true(setting, name):
    return starts(setting, name, ["/bin/true"])


def start_cat(setting, name):
    """What the first file costs: a process finds the mount and asks its daemon for the index."""
    with open(setting.folder / "list", encoding="utf-8") as file:
        return starts(setting, name, ["/bin/cat", setting.mountpoint / file.readline().rstrip("\n")])


def starts(setting, name, command):
    """The median of what one start takes in ms, from the system call to the end of the program."""
    environment = dict(os.environ)
    if volumes.variant_of(name) == volumes.CHILD:
        environment["LD_PRELOAD"] = sh(setting.programs.run, "printenv", "LD_PRELOAD").strip()
    else:
        command = volumes.started(setting.programs, name, command)
    command = [str(word) for word in command]
    with measure.cold_mount(setting, name) as (device, pid):
        run(command, environment)  # what is on the disk is in memory from here on
        counters, took = measure.Counters(setting, device, pid), []
        for _ in range(STARTS):
            begun = time.perf_counter()
            run(command, environment)
            took.append(time.perf_counter() - begun)
        result = counters.cost() | {"count": STARTS, "bytes": 0, "seconds": sum(took)}
    result["value"] = statistics.median(took) * 1e3
    return measure.per_file(result)


def run(command, environment):
    nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    status = os.waitpid(os.posix_spawn(command[0], command, environment, file_actions=nowhere), 0)[1]
    if status:
        raise Trouble(f"{' '.join(command)}: status {os.waitstatus_to_exitcode(status)}")
