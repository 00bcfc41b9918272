#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once queue=fabric in=none timeout=900
"""A publisher loses its power in the middle: readers notice nothing, another host and later it itself publish again."""
from fabric import NQN, PORTALS, Fabric, check, check_contains, main, make_tree, say, sums, usual_kernel
from publish import Halfway, attach, publish


def scenarios():
    first = make_tree("v1", 1)
    second = make_tree("v2", 2, like=first)
    large = make_tree("large", 3, count=300)
    with Fabric(usual_kernel(), ["a", "b"], {"v1": first, "v2": second, "large": large}) as net:
        a, b = net.hosts
        net.target.nvmet(f"up {NQN} /dev/vda {PORTALS[0]}")
        net.target.takes_no_reservations()
        device, seen = attach(net)
        publish(a, device, "v1")
        b.mount(seen)
        Halfway(a, device, "lost")
        check_contains("a second publisher on the same host", publish(a, device, "second", status=1), "on a since")
        check("read beside a publisher", b.sums(), sums(first))
        a.reset()
        say("the publisher lost its power")
        check("read after it", b.sums(), sums(first))
        check("versions", [one["label"] for one in b.versions(seen)], ["v1"])
        check_contains("another host publishes", publish(b, seen, "v2", "v2"), "a publisher did not finish")
        b.run("datasetfsctl switch /mnt")
        check("the version of the other host", b.sums(), sums(second))
        say("another host has published")
        a.configure()
        a.connect()
        printed = publish(a, a.device(net.uuid()), "v3")
        check("warnings", [line for line in printed.splitlines() if "did not finish" in line], [])
        b.run("datasetfsctl switch /mnt")
        check("the version of the first host", b.sums(), sums(first))
        b.run(f"datasetfsctl verify {seen}", limit=240)
        say("the first host is back and has published")


if __name__ == "__main__":
    main(scenarios)
