#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: alone once timeout=400
"""Publish on one host, read on two others, over NVMe/TCP: every file is the same, before and after a switch."""
import subprocess

from fabric import NQN, PORTALS, Fabric, check, main, make_tree, say, sums


def attach(net):
    """The target offers its disk, every host connects. The device of each host."""
    net.target.nvmet(f"up {NQN} /dev/vda {PORTALS[0]}")
    net.target.nvmet(f"allow {NQN} " + " ".join(host.nqn for host in net.hosts))
    for host in net.hosts:
        host.connect()
    uuid = net.uuid()
    return [host.device(uuid) for host in net.hosts]


def publish_and_switch(net, first, second, channel="dev"):
    """channel: by which the workers' kernels are to be served."""
    publisher, *workers = net.hosts
    device, *devices = attach(net)
    say(publisher.run(f"mkdatasetfs --label v1 {device} /src/v1", limit=240).strip())
    for worker, seen in zip(workers, devices):
        worker.mount(seen, f"-o channel={channel}")
        check(f"{worker.name}: channel", worker.stats()["channel"], channel)
        check(f"{worker.name}: version v1", worker.sums(), sums(first))
    say("v1 is the same on every worker")
    say(publisher.run(f"mkdatasetfs --label v2 {device} /src/v2", limit=240).strip())
    for worker in workers:
        check(f"{worker.name}: before the switch", worker.sums(), sums(first))
        worker.run("datasetfsctl switch /mnt")
        check(f"{worker.name}: version v2", worker.sums(), sums(second))
    say("v2 is the same on every worker")
    for worker, seen in zip(workers, devices):
        worker.run("umount /mnt")
        worker.run(f"datasetfsctl verify {seen}", limit=240)


def scenarios():
    """With the kernel of this Debian release."""
    first = make_tree("v1", 1)
    second = make_tree("v2", 2, like=first)
    with Fabric("stable", ["a", "b", "c"], {"v1": first, "v2": second}) as net:
        publish_and_switch(net, first, second)
    # The target's disk, read without the fabric.
    subprocess.run(["datasetfsctl", "verify", "volume.img"], check=True)


if __name__ == "__main__":
    main(scenarios)
