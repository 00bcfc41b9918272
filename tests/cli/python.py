#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: smoke once
"""The Python package without a mount and without torch: its layout is the header's, a barrier is all or nothing, a
command that finds no room is given again, and all of it is installed."""
import errno
import filecmp
import os
import re
import subprocess
import sys
import threading

SOURCE = os.environ["DATASETFS_SOURCE"]
sys.path.insert(0, os.path.join(SOURCE, "contrib", "python"))
import datasetfs  # noqa: E402
from datasetfs import mount as module  # noqa: E402


def check(what, found, expected):
    if found != expected:
        sys.exit(f"fail: {what}: found {found!r}, expected {expected!r}")


def check_layout():
    with open("layout.c", "w", encoding="utf-8") as file:
        file.write('#include <stdio.h>\n#include <stddef.h>\n#include "datasetfs/control.h"\n'
                   'int main(void) { printf("%zu %zu %lu %u %u\\n",'
                   "sizeof(struct dsfs_switch), offsetof(struct dsfs_switch, reason),"
                   "(unsigned long)DSFS_IOC_SWITCH, DSFS_SWITCH_PREPARE, DSFS_SWITCH_BY_UUID); }\n")
    subprocess.run(["cc", "-I", os.path.join(SOURCE, "include"), "-o", "layout", "layout.c"], check=True)
    found = [int(word) for word in subprocess.run(["./layout"], check=True, capture_output=True).stdout.split()]
    check("layout", [module.LAYOUT.size, module.LAYOUT.size - 504, module.DSFS_IOC_SWITCH, module.DSFS_SWITCH_PREPARE,
                     module.DSFS_SWITCH_BY_UUID], found)


class Rank:
    """A mount that does as it is told."""

    def __init__(self, fails=None):
        self.serves, self.fails = "one", fails
        self.calls = []

    def _call(self, what):
        self.calls.append(what)
        if self.fails == what:
            raise module.SwitchError(5, "it is broken")

    @property
    def version(self):
        self._call("version")
        return {"label": self.serves, "uuid": {"one": "1", "two": "2"}[self.serves]}

    def _do(self, what, uuid):
        label = {None: "two", "1": "one", "2": "two"}[uuid]
        self._call("back" if what == "switch" and label == "one" else what)
        return module.Version(label, {"one": "1", "two": "2"}[label], 0, 0, 0)

    def prepare(self, label=None, *, uuid=None):
        return self._do("prepare", uuid)

    def switch(self, label=None, *, uuid=None):
        answer = self._do("switch", uuid)
        self.serves = answer.label
        return answer


class Gather:
    """all_gather_object() among threads."""

    def __init__(self, count):
        self.values, self.gate = [None] * count, threading.Barrier(count)

    def __call__(self, rank, value):
        self.values[rank] = value
        self.gate.wait(10)
        values = list(self.values)
        self.gate.wait(10)
        return values


def run_ranks(ranks):
    gather, results = Gather(len(ranks)), [None] * len(ranks)

    def one(rank):
        results[rank] = datasetfs.epoch_barrier(ranks[rank], gather=lambda value: gather(rank, value))

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(len(ranks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return results


def broken_ranks(failures):
    return [Rank(failures.get(rank)) for rank in range(4)]


def check_reason(failure, pattern):
    if not re.fullmatch(pattern, failure):
        sys.exit(f"fail: the reason is {failure!r}")


def check_barrier():
    ranks = [Rank() for _ in range(4)]
    check("all can", run_ranks(ranks), [("two", None)] * 4)
    check("all serve", [rank.serves for rank in ranks], ["two"] * 4)
    for broken, where in ((0, "version"), (1, "version"), (0, "prepare"), (2, "prepare"), (3, "switch")):
        ranks = broken_ranks({broken: where})
        for rank, (label, failure) in enumerate(run_ranks(ranks)):
            check("label after a failure", label, None if where == "version" and rank == broken else "one")
            check_reason(failure, rf"rank {broken}: SwitchError: .*it is broken")
        check(f"served after rank {broken} failed to {where}", [rank.serves for rank in ranks], ["one"] * 4)
        if where != "switch":
            check("switches", sum(rank.calls.count("switch") for rank in ranks), 0)


def check_no_way_back():
    ranks = broken_ranks({1: "back", 3: "switch"})
    results = run_ranks(ranks)
    check("labels", [label for label, _ in results], ["one", "two", "one", "one"])
    check("served", [rank.serves for rank in ranks], ["one", "two", "one", "one"])
    for _, failure in results:
        check_reason(failure, "rank 3: SwitchError: .*; not all went back, rank 1: SwitchError: .*it is broken")


def check_refusals():
    mount = datasetfs.Mount(".")
    for words in ({"label": "x" * 200}, {"label": "a", "uuid": "b"}):
        try:
            mount.prepare(**words)
        except ValueError:
            continue
        sys.exit(f"fail: {words} were accepted")
    try:
        mount.prepare("v1")
    except FileNotFoundError:
        return
    sys.exit("fail: no mount, and no error")


class Control:
    """ioctl() of a mount that has no room for the first so many commands,
    and then answers with the errno and reason."""

    def __init__(self, refusals, code=0, reason=b""):
        self.refusals, self.code, self.reason, self.calls = refusals, code, reason, 0

    def __call__(self, _fd, _number, command, _mutate):
        self.calls += 1
        if self.calls <= self.refusals:
            raise OSError(errno.EBUSY, "Device or resource busy")
        words = module.LAYOUT.unpack(command)
        module.LAYOUT.pack_into(command, 0, *words[:2], b"two", *words[3:-1], self.reason)
        if self.code:
            raise OSError(self.code, os.strerror(self.code))


class Clock:
    """A time that passes only while somebody sleeps, so that a busy machine takes no attempt away."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def give(control, busy_timeout):
    """The label, or the errno and the text."""
    kept = module.fcntl.ioctl, module.time
    module.fcntl.ioctl, module.time = control, Clock()
    try:
        return datasetfs.Mount("busy", busy_timeout).switch("two").label
    except module.SwitchError as error:
        return error.errno, error.strerror
    finally:
        module.fcntl.ioctl, module.time = kept


def check_busy():
    os.makedirs("busy/.datasetfs/control")  # a directory can be opened as well
    control = Control(4)
    check("no room four times", (give(control, 60), control.calls), ("two", 5))
    control = Control(1 << 30)
    check("never room", give(control, 0.2), (errno.EBUSY, "too many commands were under way for 0.2 s"))
    if control.calls < 2:
        sys.exit(f"fail: {control.calls} attempts")
    for code in (errno.EBUSY, errno.ENOENT):
        control = Control(1, code, b"it is so")
        check("a reason", (give(control, 60), control.calls), ((code, "it is so"), 2))
    control = Control(0, errno.ENOTCONN)
    check("another error", (give(control, 60), control.calls), ((errno.ENOTCONN, os.strerror(errno.ENOTCONN)), 1))


def check_installed():
    source = os.path.join(SOURCE, "contrib", "python", "datasetfs")
    installed = os.path.join(os.environ["DATASETFS_BUILD"], "root", "usr", "share", "datasetfs", "python", "datasetfs")
    names = sorted(name for name in os.listdir(source) if name.endswith(".py"))
    check("the same files", filecmp.cmpfiles(source, installed, names, shallow=False), (names, [], []))


check_layout()
check_barrier()
check_busy()
check_installed()
check_no_way_back()
check_refusals()
