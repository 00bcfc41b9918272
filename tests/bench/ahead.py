# SPDX-License-Identifier: MIT
"""Rows of reading ahead: a walk in the order of the tree, and a shuffle that the mount was told of."""
import re
import resource
import subprocess
import time

import measure
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
