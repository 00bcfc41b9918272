# SPDX-License-Identifier: MIT
"""Samples of datasetfsctl top --batch --json, against what is done to its mounts meanwhile.
usage: top.py reads MOUNT FOLDER | pair MOUNT FOLDER | hang MOUNT DAEMON SERVER OTHER"""
import json
import mmap
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["DATASETFS_SOURCE"], "tests", "lib"))
from patience import Patience  # noqa: E402

LIMIT = 60  # seconds for what should take one or two


def check(what, found, expected):
    if found != expected:
        sys.exit(f"fail: {what}: found {found!r}, expected {expected!r}")


def start(samples, interval, *mounts):
    return subprocess.Popen(["datasetfsctl", "top", "--json", "--batch", str(samples), "--interval", str(interval),
                             *mounts], stdout=subprocess.PIPE, text=True)


def sample(top, mount):
    """The next one, of this mount."""
    line = top.stdout.readline()
    if not line:
        sys.exit(f"fail: no sample, status {top.wait()}")
    found = [item for item in json.loads(line)["mounts"] if item["mount"] == mount]
    check("mounts of that name", len(found), 1)
    return found[0]


def end(top):
    check("status", top.wait(), 0)
    check("lines after the last sample", top.stdout.read(), "")


def stats(mount):
    with open(f"{mount}/.datasetfs/stats.json", encoding="utf-8") as file:
        return json.load(file)


def read_files(folder):
    """Every file once, past the page cache; their number and bytes."""
    buffer = mmap.mmap(-1, 1 << 20)
    total = 0
    names = os.listdir(folder)
    for name in names:
        fd = os.open(f"{folder}/{name}", os.O_RDONLY | os.O_DIRECT)
        total += os.readv(fd, [buffer])
        os.close(fd)
    return len(names), total


def derived(rates):
    """What follows from the counters of a sample, to the precision that is printed."""
    for name, amount, by in (("files_per_second", "files", "seconds"), ("bytes_per_second", "bytes", "seconds"),
                             ("device_bytes_per_second", "device_bytes", "seconds"),
                             ("device_reads_per_file", "device_reads", "files")):
        if not rates[by]:
            check(name, rates[name], None)
            continue
        expected = rates[amount] / rates[by]
        if abs(rates[name] - expected) > 1e-5 * max(1, expected):
            sys.exit(f"fail: {name}: found {rates[name]}, expected {expected} in {rates}")


def reads(mount, folder):
    """However the samples fall: together they have each read once."""
    top = start(1000, 1, mount)
    check("trouble", until(top, mount, "ok")["trouble"], [])
    before = stats(mount)
    files, total = read_files(folder)
    after = stats(mount)
    check("counted by the daemon", after["files_served"] - before["files_served"], files)
    seen = {name: 0 for name in ("files", "bytes", "device_reads", "device_bytes", "cpu_seconds")}
    patience = Patience(LIMIT)
    busy = None
    while seen["files"] < files:
        if patience.is_over():
            sys.exit(f"fail: {seen} after {LIMIT} s, expected {files} files")
        rates = until(top, mount, "ok")["rates"]
        derived(rates)
        for name in seen:
            seen[name] += rates[name]
        if rates["files"]:
            busy = rates
    check("files", seen["files"], files)
    check("bytes", seen["bytes"], total)
    check("device reads", seen["device_reads"], after["device_reads"] - before["device_reads"])
    check("device bytes", seen["device_bytes"], after["device_bytes"] - before["device_bytes"])
    latency = [busy["read_latency_ms"][name] for name in ("p50", "p90", "p99", "p99.9")]
    if None in latency or latency != sorted(latency) or not 0 < latency[0] < 60_000:
        sys.exit(f"fail: latencies {latency}")
    if not 0 < seen["cpu_seconds"] <= after["cpu_seconds"] + 1 or not busy["cpu_us_per_file"] > 0:
        sys.exit(f"fail: CPU time {seen['cpu_seconds']}, {busy}")
    top.terminate()
    check("status after SIGTERM", top.wait(), -signal.SIGTERM)


def pair(mount, folder):
    """Two samples, one and two intervals after the start: the second one has what is read in between. The first one may
    reach us late, so the time counts from the start; a machine that is too slow for it gets more. A mount that has no
    processor for half a second is silent in a sample."""
    patience, interval = Patience(2 * LIMIT), 1
    while True:
        began = time.monotonic()
        top = start(2, interval, mount)
        first = sample(top, mount)
        files, total = read_files(folder)
        in_time = time.monotonic() - began < 2 * interval
        second = sample(top, mount)
        end(top)
        if in_time and first["state"] == second["state"] == "ok":
            break
        if patience.is_over():
            sys.exit(f"fail: no two samples around {files} files in {2 * interval} s: {first}, {second}")
        interval = min(interval * (1 if in_time else 2), 16)
    check("before", (first["rates"]["files"], first["rates"]["bytes"]), (0, 0))
    check("in between", (second["rates"]["files"], second["rates"]["bytes"]), (files, total))
    check("a second", round(second["rates"]["files_per_second"] * second["rates"]["seconds"]), files)


def until(top, mount, state):
    """The first sample with that state. Who has no processor for half a second is silent as well."""
    patience = Patience(LIMIT)
    while True:
        found = sample(top, mount)
        if found["state"] == state:
            return found
        if patience.is_over():
            sys.exit(f"fail: not {state} after {LIMIT} s: {found}")


def hang(mount, daemon, server, other):
    """One mount hangs, is back, and loses its daemon; another one is looked at all the time."""
    top = start(1000, 1, mount, other)
    until(top, mount, "ok")
    for process in daemon, server:  # the one would replace the other
        os.kill(process, signal.SIGSTOP)
    try:
        silent = until(top, mount, "silent")
        if "it has not answered for" not in silent["trouble"][0] or silent["rates"] is not None:
            sys.exit(f"fail: a mount that hangs: {silent}")
        check("rates of the other mount", until(top, other, "ok")["rates"] is not None, True)
    finally:
        for process in daemon, server:
            os.kill(process, signal.SIGCONT)
    until(top, mount, "ok")
    for process in daemon, server:
        os.kill(process, signal.SIGKILL)
    gone = until(top, mount, "gone")
    if "not connected" not in gone["trouble"][0]:
        sys.exit(f"fail: a mount whose daemon was killed: {gone}")
    until(top, other, "ok")
    patience = Patience(LIMIT)
    while subprocess.run(["umount", mount]).returncode: # somebody is just looking
        if patience.is_over():
            sys.exit(f"fail: busy for {LIMIT} s")
    while until(top, mount, "gone")["trouble"] != ["not mounted any more"]:
        if patience.is_over():
            sys.exit(f"fail: still mounted after {LIMIT} s")
    top.terminate()
    check("status after SIGTERM", top.wait(), -signal.SIGTERM)


def main():
    mode, *words = sys.argv[1:]
    if mode == "hang":
        hang(words[0], int(words[1]), int(words[2]), words[3])
    else:
        {"reads": reads, "pair": pair}[mode](*words)


main()
