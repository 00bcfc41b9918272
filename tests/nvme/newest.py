#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once queue=fabric timeout=900
"""Debian's newest kernel everywhere: NVMe verbs; publish, read over the kernel's io_uring queues, switch;
paths that go."""
from fabric import Fabric, check, main, make_tree
from paths import paths
from publish import UNFENCED, publish_and_switch
from verbs import verbs


def scenarios():
    first = make_tree("v1", 1)
    second = make_tree("v2", 2, like=first)
    small = make_tree("tree", 4, count=30)
    with Fabric("newest", ["a", "b", "c"], {"v1": first, "v2": second, "tree": small}) as net:
        verbs(net, net.hosts[0], small, reservations=True)
        for worker in net.hosts[1:]:
            worker.run("echo Y >/sys/module/fuse/parameters/enable_uring")
        check("a publish without reservations", UNFENCED in publish_and_switch(net, first, second, "ring"), False)
        paths(net, net.hosts[1], second, "-o channel=ring")


if __name__ == "__main__":
    main(scenarios)
