# SPDX-License-Identifier: MIT
"""A guest with a volume, and eight readers of its mount, who compare what they read with what the volume was made of:
tests/lib/readers.c."""
import subprocess

from fabric import Machine, check, make_tree, pack_sources, say, wait_for
from guest import Failed

READERS = 8
DROPS = "while [ ! -e /run/progress.enough ]; do echo 3 >/proc/sys/vm/drop_caches; sleep 0.2; done"


def make_volume():
    """The file volume with the versions v1 and v2, and sources.tar with what they were made of."""
    first = make_tree("v1", 1, count=240)
    second = make_tree("v2", 2, like=first, count=240)
    for label, folder in (("v1", first), ("v2", second)):
        subprocess.run(["mkdatasetfs", "--progress", "none", "--label", label, "volume", folder], check=True)
    pack_sources({"v1": first, "v2": second})


class Alone(Machine):
    """A guest without a fabric: that volume is its first disk, and the sources are its second."""

    def __init__(self, name, guest_kernel, memory):
        super().__init__(name, guest_kernel, "initramfs", 11, ["volume", "sources.tar"], cpus=2, memory=memory)

    def __enter__(self):
        try:
            self.wait_ready()
            self.run("mkdir -p /src && busybox tar -xf /dev/vdb -C /src")
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind, _error, _trace):
        if kind is not None and issubclass(kind, Exception):
            self.keep_logs()
        self.stop()


class Readers:
    """The eight, and what they have done so far."""

    def __init__(self, worker, how, mountpoint):
        self.worker = worker
        worker.run("rm -f /run/progress*")
        self.job = worker.start(f"readers {how} {mountpoint} /run/progress /src/v1 /src/v2")
        self.drops = worker.start(DROPS)
        wait_for("readers", lambda: worker.run("cat /run/progress 2>/dev/null || true"))
        self.go_on()

    def progress(self):
        """What each has read; ECONNABORTED, other errors, the longest wait."""
        numbers = [int(word) for word in self.worker.run("cat /run/progress").split()]
        return numbers[:READERS], numbers[READERS:]

    def go_on(self):
        """Waits until each of them has read twice more: the first read may have been answered before."""
        before = self.progress()[0]
        wait_for(f"all {READERS} readers go on", lambda: all(
            now >= then + 2 for then, now in zip(before, self.progress()[0])))

    def replace(self, stats, act, most_aborted=0):
        """act ends the server, whose numbers it gets: another one answers, all readers go on, and so many of their
        requests have failed. stats: gives the mount's numbers."""
        before, aborted = stats(), self.progress()[1][0]
        act(before)
        wait_for("another server", lambda: stats()["restarts"] > before["restarts"])
        self.go_on()
        now_aborted, other, _ = self.progress()[1]
        check(f"other errors than ECONNABORTED:\n{self.job.output()}", other, 0)
        if now_aborted - aborted > most_aborted:
            raise Failed(f"{now_aborted - aborted} requests failed, at most {most_aborted} may:\n{self.job.output()}")

    def stop(self, what):
        """Ends them, after that."""
        self.worker.run("touch /run/progress.enough")
        status, printed = self.job.wait()
        self.drops.wait()
        check(f"status of the readers, which say\n{printed}", status, 0)
        reads, (aborted, _, longest) = self.progress()
        say(f"{what}: {sum(reads)} reads, {aborted} failed with ECONNABORTED, longest {longest} ms")
