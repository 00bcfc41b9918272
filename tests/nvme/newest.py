#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: alone once timeout=300
"""Debian's newest kernel on target and hosts: publish, read over the kernel's io_uring queues, switch; reservations."""
from fabric import NQN, Fabric, check, main, make_tree, say
from publish import publish_and_switch


def scenarios():
    first = make_tree("v1", 1)
    second = make_tree("v2", 2, like=first)
    with Fabric("newest", ["a", "b", "c"], {"v1": first, "v2": second}) as net:
        for worker in net.hosts[1:]:
            worker.run("echo Y >/sys/module/fuse/parameters/enable_uring")
        publish_and_switch(net, first, second, "-o channel=ring")
        check("reservations", net.target.run(f"cat /sys/kernel/config/nvmet/subsystems/{NQN}/namespaces/1/resv_enable"), "1\n")
        say("namespace with reservations")


if __name__ == "__main__":
    main(scenarios)
