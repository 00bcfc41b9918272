#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once queue=fabric in=none timeout=1200
"""The server of a mount gets SIGKILL under eight readers, on other kernels than this machine's, and its program is
replaced. With a kernel that can send requests again nothing fails; with an older one requests under way at a kill may
end with ECONNABORTED, none at an upgrade, and nothing hangs."""
import json
import os
import pathlib
import re

import initramfs
import kernel
from fabric import check, check_contains, main, say, wait_for
from guest import need_qemu
from readers import Alone, Readers, make_volume

UPGRADES = 10
ABORTED = "Software caused connection abort"
# Promises of a mount, and of 'datasetfsctl status', from the first kernel on that sends requests again, and before.
RESEND = (6, 9)
PROMISES = {True: "another one goes on and no request fails",
            False: "another one goes on; requests under way may fail with ECONNABORTED"}
MOST_ABORTED = 3  # of the requests under way at one kill
# The kernel has nothing of this in its log after all kills.
FAULTS = "BUG:|Oops|refcount_t|general protection|blocked for more than"


class Worker(Alone):
    """It may lose requests, if its kernel does."""

    def __init__(self, kind, build):
        self.kernel = kernel.prepare(kind, build / "nvme-kernels")
        initramfs.build("initramfs", self.kernel.modules, [], [build / "tests/readers"])
        super().__init__(kind, self.kernel, memory=512)
        self.resends = tuple(map(int, re.match(r"(\d+)\.(\d+)", self.kernel.release).groups())) >= RESEND

    def ask(self, command):
        """What a command prints that a kill may fail, where this kernel lets it."""
        def answer():
            printed = self.run(f"{command} || echo failed", limit=60)
            if self.resends or ABORTED not in printed:
                check(f"{command} fails", printed.endswith("failed\n"), False)
                return printed or "nothing"
            return None
        return wait_for(f"an answer to {command}", answer)

    def stats(self):
        return json.loads(self.ask("cat /mnt/.datasetfs/stats.json"))


def kill(worker, readers):
    readers.replace(worker.stats, lambda stats: worker.run(f"kill -KILL {stats['server_pid']}"),
                    0 if worker.resends else MOST_ABORTED)


def upgrade(worker, readers):
    """Another file is installed, and the mount goes on with it."""
    worker.run("cp /usr/bin/datasetfs /usr/bin/new && mv /usr/bin/new /usr/bin/datasetfs")
    check("an old program", worker.stats()["program_is_old"], True)
    readers.replace(worker.stats, lambda _: worker.run("datasetfsctl upgrade /mnt"), 0)
    check("an old program after the upgrade", worker.stats()["program_is_old"], False)


def switch(worker, label):
    worker.run(f"datasetfsctl switch /mnt {label}")
    check("label", f'"{label}"' in worker.run("grep label /mnt/.datasetfs/version"), True)


def switch_killed(worker, readers, label):
    """The server dies while a switch is under way."""
    job = worker.start(f"datasetfsctl switch /mnt {label}")
    kill(worker, readers)
    status, printed = job.wait()
    if worker.resends or ABORTED not in printed:
        check(f"status of the switch, which says\n{printed}", status, 0)
    switch(worker, label)


def random_reads(worker):
    readers = Readers(worker, "random", "/mnt")
    for old, new in (("v2", "v1"), ("v1", "v2")):
        for _ in range(4):
            kill(worker, readers)
        switch(worker, new)
        switch(worker, old)
        switch_killed(worker, readers, new)
    readers.stop("10 kills")


def walks(worker):
    """The server dies while it reads ahead, and stores into the page cache."""
    readers = Readers(worker, "walk", "/mnt")
    for _ in range(10):
        kill(worker, readers)
    readers.stop("10 kills")


def upgrades(worker, how):
    readers = Readers(worker, how, "/mnt")
    for _ in range(UPGRADES):
        upgrade(worker, readers)
    readers.stop(f"{UPGRADES} upgrades")


def takeovers(kind, build):
    with Worker(kind, build) as worker:
        say(f"Linux {worker.kernel.release}")
        promise = PROMISES[worker.resends]
        check_contains("the mount", worker.run("datasetfs /dev/vda /mnt"), promise)
        check_contains("status", worker.run("datasetfsctl status /mnt"), promise)
        random_reads(worker)
        # Elsewhere a server that dies in a store may end the mount: see fuse/store-owed.sh.
        if worker.resends:
            walks(worker)
        for how in ("random", "walk"):
            upgrades(worker, how)
        kills, upgraded = 20 if worker.resends else 10, 2 * UPGRADES
        check_contains("status", worker.run("datasetfsctl status /mnt"), f"after {kills + upgraded} others")
        check("deaths in the log", worker.messages().count("another one serves after"), kills)
        check("upgrades in the log", worker.messages().count("a server of the new program serves after"), upgraded)
        worker.run("umount /mnt")
        wait_for("the end of all processes", lambda: not worker.run("ps -o args | grep '^datasetfs ' || true"))
        check("kernel messages", worker.run(f"dmesg | grep -E '{FAULTS}' || true"), "")


def scenarios():
    need_qemu()
    build = pathlib.Path(os.environ["DATASETFS_BUILD"])
    make_volume()
    for kind in ("stable", "next", "newest"):
        takeovers(kind, build)


main(scenarios)
