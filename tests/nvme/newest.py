#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once queue=fabric timeout=900
"""Debian's newest kernel everywhere: the manual's commands; the target's script; NVMe verbs; publish, read over the
kernel's io_uring queues, switch; paths that go."""
from fabric import Fabric, check, main, make_tree
from manual import manual
from paths import paths
from publish import UNFENCED, publish_and_switch
from target import target
from verbs import verbs


def scenarios():
    first = make_tree("v1", 1)
    second = make_tree("v2", 2, like=first)
    small = make_tree("tree", 4, count=30)
    with Fabric("newest", ["a", "b"], {"v1": first, "v2": second, "tree": small, "train": small}) as net:
        publisher, worker = net.hosts
        manual(net, small)
        for host in net.hosts:
            host.take_name()
        target(net, publisher)
        publisher.disconnect()
        net.target.forget()
        verbs(net, publisher, small, reservations=True)
        worker.run("echo Y >/sys/module/fuse/parameters/enable_uring")
        check("a publish without reservations", UNFENCED in publish_and_switch(net, first, second, "ring"), False)
        paths(net, worker, second, "-o channel=ring")


if __name__ == "__main__":
    main(scenarios)
