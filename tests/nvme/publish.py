#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once queue=fabric in=none timeout=900
"""Publish on one host, read on two others, over NVMe/TCP: every file is the same, before and after a switch."""
import subprocess

from fabric import NQN, PORTALS, Fabric, check, check_contains, main, make_tree, say, sums, wait_for
from guest import Failed

UNFENCED = "nothing keeps other hosts from publishing at the same time: the target has no reservations, ignoring"

# Stops the publisher when chunks are being written: 2 MiB of 10 and more.
HALFWAY = """written() {{
    sectors=0
    for counts in /sys/block/nvme*c*/stat; do
        read -r a b c d e f more rest <$counts
        sectors=$((sectors + more))
    done
}}
written
enough=$((sectors + 4096))
mkdatasetfs --label {label} --progress none {device} /src/large &
until [ $sectors -gt $enough ]; do
    kill -0 $! || exit 1
    written
done
kill -STOP $!
echo $! >/run/halfway
wait $!"""


class Halfway:
    """A publish of /src/large that was stopped in the middle, as if its host hung. device: the volume or, if it has
    another name, one of its devices."""

    def __init__(self, host, device, label, volume=None):
        self.host = host
        host.run("rm -f /run/halfway")
        self.job = host.start(HALFWAY.format(label=label, device=volume or device))
        self.process = wait_for(f"{host.name}: a publish in the middle", self.stopped)
        check(f"{host.name}: the record of a publisher",
              host.run(f"dd if={device} bs=4096 skip=128 count=1 2>/dev/null | head -c 7"), "DSFSPUB")

    def stopped(self):
        if self.job.ended():
            raise Failed(f"{self.host.name}: it ended before it could be stopped\n{self.job.output()}")
        return self.host.run("cat /run/halfway 2>/dev/null || true").strip()

    def end(self, signal):
        """Sends it a signal and lets it go on; its status and output."""
        self.host.run(f"kill -{signal} {self.process}; kill -CONT {self.process} || true")
        return self.job.wait()


def publish(host, device, label, folder="v1", options="", status=0):
    """Publishes; gives what was printed."""
    return host.run(f"mkdatasetfs --label {label} --progress none {options} {device} /src/{folder}", status, limit=240)


def attach(net):
    """The target offers its disk, every host connects. The device of each host."""
    net.target.nvmet(f"up {NQN} /dev/vda {PORTALS[0]}")
    net.target.nvmet(f"allow {NQN} " + " ".join(host.nqn for host in net.hosts))
    for host in net.hosts:
        host.connect()
    uuid = net.uuid()
    return [host.device(uuid) for host in net.hosts]


def publish_and_switch(net, first, second, channel="dev"):
    """channel: by which the workers' kernels are to be served. What the first publish printed."""
    publisher, *workers = net.hosts
    device, *devices = attach(net)
    printed = publish(publisher, device, "v1")
    for worker in workers:
        worker.mount(f"nvme:uuid:{net.uuid()}", f"-o channel={channel}")
        check(f"{worker.name}: channel", worker.stats()["channel"], channel)
        check(f"{worker.name}: version v1", worker.sums(), sums(first))
    say("v1 is the same on every worker")
    publish(publisher, device, "v2", "v2")
    for worker in workers:
        check(f"{worker.name}: before the switch", worker.sums(), sums(first))
        worker.run("datasetfsctl switch /mnt")
        check(f"{worker.name}: version v2", worker.sums(), sums(second))
    say("v2 is the same on every worker")
    for worker, seen in zip(workers, devices):
        worker.run("umount /mnt")
        worker.run(f"datasetfsctl verify {seen}", limit=240)
    return printed


def scenarios():
    """With the kernel of this Debian release."""
    first = make_tree("v1", 1)
    second = make_tree("v2", 2, like=first)
    with Fabric("stable", ["a", "b", "c"], {"v1": first, "v2": second}) as net:
        check_contains("a target without reservations", publish_and_switch(net, first, second), UNFENCED)
    # The target's disk, read without the fabric.
    subprocess.run(["datasetfsctl", "verify", "volume.img"], check=True)


if __name__ == "__main__":
    main(scenarios)
