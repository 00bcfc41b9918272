# SPDX-License-Identifier: MIT
"""Rows of the library: batches of files in C, single files and batches in Python, PyTorch's DataLoader."""
import measure
import volumes

# The mode of library.c that a column stands for.
MODES = {"": "ids", volumes.BEFORE: "ids", "sha256": "ids", "windowless": "ids", "path": "paths", "queue": "queue",
         "file": "files"}


def read_batches(setting, name):
    """Files by the library, in the mode that the column names; a rival reads them one after the other."""
    row = setting.row
    if volumes.base_of(name) == "fio":
        return measure.fio(setting, "randread", measure.mean_read(setting), row.depth, jobs=setting.threads(name))
    if volumes.base_of(name) != "lib":
        return measure.read_files(setting, name)
    mode = MODES[volumes.variant_of(name)]
    options = {"threads": row.threads, "seed": setting.seed, "seconds": setting.seconds or 0, "batch": row.batch,
               "depth": row.depth, "way": "direct"}
    command = [setting.programs.library, mode, setting.where(name), setting.folder / "list",
               *measure.option_words(options)]
    with measure.cold_mount(setting, name) as (device, pid):
        result = measure.clocked(setting, device, pid, command)
    measure.check_counts(setting, name, result, not setting.seconds)
    result["value"] = result["count"] / result["seconds"]
    return measure.per_file(result)


# --- Python ------------------------------------------------------------------------------------------------


def read_paths(setting, name):
    """open().read() of a rival or of the mount, read() or read_many() of the package."""
    modes = {"": "read", volumes.BEFORE: "read", "many": "many"}
    mode = modes[volumes.variant_of(name)] if volumes.base_of(name) == "lib" else "open"
    result = measure.run_script(setting, name, "pyread.py", mode, setting.where(name), setting.folder / "list",
                                setting.threads(name), setting.seconds or 0, setting.seed,
                                "processes" if setting.row.processes else "threads")
    measure.check_counts(setting, name, result, not setting.seconds)
    result["value"] = result["count"] / result["seconds"]
    return measure.per_file(result)


def run_loader(setting, name, batches):
    measure.need_torch()
    mode = volumes.without_build(name) if volumes.base_of(name) in ("lib", "carry", "shards") else "folder"
    return measure.run_script(setting, name, "loader.py", mode, setting.where(name), setting.folder / "list",
                              setting.row.threads, batches, setting.seed)


def read_loader(setting, name):
    """Files of an epoch from the making of the loader on: making the data set, a scan for some, is not in it."""
    result = run_loader(setting, name, 0)
    measure.check_counts(setting, name, result, True)
    result["value"] = result["count"] / (result["seconds"] - result["scan_seconds"])
    return measure.per_file(result)


def first_batch(setting, name):
    result = run_loader(setting, name, 1)
    result["value"] = result["first_seconds"]
    return measure.per_file(result)
