# SPDX-License-Identifier: MIT
"""Rows of the library: batches of files in C, single files and batches in Python, PyTorch's DataLoader."""
import os
import subprocess

import measure
import volumes
from machine import Trouble

# The mode of library.c that a column stands for.
MODES = {"": "ids", "path": "paths", "queue": "queue", "file": "files"}


def read_batches(setting, name):
    """Files by the library, in the mode that the column names; a rival reads them one after the other."""
    row = setting.row
    if volumes.base_of(name) == "fio":
        return measure.fio(setting, "randread", measure.mean_read(setting), row.depth, jobs=setting.threads(name))
    if volumes.base_of(name) != "lib":
        return measure.read_files(setting, name)
    mode = MODES[volumes.variant_of(name)]
    options = {"threads": row.threads, "seed": setting.seed, "seconds": setting.seconds or 0, "batch": row.batch,
               "way": "direct"}
    command = [setting.programs.library, mode, setting.where(name), setting.folder / "list",
               *measure.option_words(options)]
    with measure.cold_mount(setting, name) as (device, pid):
        result = measure.clocked(setting, device, pid, command)
    measure.check_counts(setting, name, result, not setting.seconds)
    result["value"] = result["count"] / result["seconds"]
    return measure.per_file(result)
