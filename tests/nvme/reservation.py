#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once queue=fabric in=none timeout=900
"""Two hosts that publish on a namespace with reservations: the device itself refuses the second one, and the first one
when it was given up too early; killed publishers and lost power leave a volume that goes on; write protection."""
import json

from fabric import Fabric, check, check_contains, main, make_tree, say, sums, wait_for
from publish import Halfway, attach, publish


def inspect(host, device):
    return json.loads(host.run(f"datasetfsctl nvme inspect --json {device}"))


def reserved(host, device, holder, who):
    """As a host sees it: who has the namespace reserved, or None."""
    found = inspect(host, device)["reservation"]
    check(f"reservation {who}", (found["type"], found["host"]),
          ("write-exclusive", holder.hostid) if holder else ("none", ""))


def raw_write(host, device, reason):
    """Writes zeros over the superblock, which a host that is to be kept out must not be able to."""
    check_contains(f"{host.name}: a raw write",
                   host.run(f"dd if=/dev/zero of={device} bs=4096 count=1 oflag=direct conv=notrunc", status=1), reason)


def kept_out(host, volume, holder, devices=()):
    """The volume's devices, if it is not one itself, take no write of a host, and its publisher is told who has the
    reservation."""
    check_contains(f"{host.name}: a publish", publish(host, volume, "never", status=1),
                   f"host {holder.hostid} has it reserved; if no publisher runs there any more")
    check_contains(f"{host.name}: a change", host.run(f"datasetfsctl current {volume} v1", status=1),
                   f"host {holder.hostid} has it reserved")
    for device in devices or (volume,):
        # The error that programs get for a reservation conflict (EBADE).
        raw_write(host, device, "Invalid exchange")


def preempts(host, device, label, lost):
    check_contains(f"{host.name}: --preempt", publish(host, device, label, options="--preempt"),
                   f"took the reservation away from host {lost.hostid} and keeps it")
    reserved(host, device, host, "after --preempt")


def releases(host, device):
    check_contains(f"{host.name}: release", host.run(f"datasetfsctl nvme release {device}"), "is no longer reserved")
    reserved(host, device, None, "after a release")


def killed(a, b, device, seen):
    """SIGKILL in the middle: the reservation stays with the host; another one can take it, and then keeps it."""
    publisher = Halfway(a, device, "killed")
    reserved(b, seen, a, "of a publisher")
    check_contains("the publisher's record", publish(b, seen, "never", status=1),
                   f"process {publisher.process} on a since")
    kept_out(b, seen, a)
    check("status of a killed publisher", publisher.end("KILL")[0], 137)
    reserved(b, seen, a, "of a publisher that was killed")
    kept_out(b, seen, a)
    preempts(b, seen, "v2", a)
    kept_out(a, device, b)
    releases(b, seen)
    say("killed in the middle: another host took the reservation")


def wakes_up_late(a, b, device, seen):
    """A publisher that hung and was given up goes on: it does not write a byte more."""
    publisher = Halfway(a, device, "late")
    preempts(b, seen, "v3", a)
    status, output = publisher.end("CONT")
    check("status of a publisher that lost its reservation", status, 1)
    check_contains("a publisher that lost its reservation", output,
                   "refused by the device, another host has it reserved")
    releases(b, seen)
    say("a publisher that woke up late was refused by the device")


def loses_power(a, b, device, seen, net):
    """The same with the power of the host: when it is back it is still kept out, until it is let in again."""
    Halfway(a, device, "lost")
    a.reset()
    reserved(b, seen, a, "of a host without power")
    kept_out(b, seen, a)
    preempts(b, seen, "v4", a)
    a.configure()
    a.connect()
    device = a.device(net.uuid())
    kept_out(a, device, b)
    releases(b, seen)
    say("lost its power in the middle: another host took the reservation, the first one was kept out when it was back")
    return device


def finishes(a, b, device, seen):
    """A publisher that is left alone: the other host is kept out, and may publish afterwards."""
    publisher = Halfway(a, device, "v5")
    kept_out(b, seen, a)
    status, output = publisher.end("CONT")
    check("a publisher that went on", status, 0)
    check("its warnings", "reserv" in output, False)
    reserved(b, seen, None, "after a publish")
    publish(b, seen, "v6", "v2")
    reserved(a, device, None, "after the next publish")
    say("a publisher has finished, the next one may publish")


def protected(a, b, device, seen):
    """Between publishes nobody can write; the next publish with --write-protect can."""
    publish(b, seen, "v7", options="--write-protect")
    wait_for("a: a namespace that is read-only", lambda: inspect(a, device)["read_only"])
    check("write protection", inspect(a, device)["write_protected"], True)
    check_contains("a publish", publish(a, device, "never", status=1),
                   "it is write-protected; --write-protect lifts that")
    raw_write(a, device, "Operation not permitted")
    publish(a, device, "v8", "v2", options="--write-protect")
    check("write protection", inspect(b, seen)["write_protected"], True)
    b.run(f"datasetfsctl nvme protect --off {seen}")
    check("write protection", inspect(b, seen)["write_protected"], False)
    say("write-protected between publishes")


def scenarios():
    first = make_tree("v1", 1)
    second = make_tree("v2", 2, like=first)
    large = make_tree("large", 3, count=120)
    with Fabric("newest", ["a", "b"], {"v1": first, "v2": second, "large": large}) as net:
        a, b = net.hosts
        device, seen = attach(net)
        check("a target with reservations", inspect(a, device)["can_reserve"], True)
        publish(a, device, "v1")
        b.mount(seen)
        reserved(b, seen, None, "after a publish")
        killed(a, b, device, seen)
        wakes_up_late(a, b, device, seen)
        device = loses_power(a, b, device, seen, net)
        check("read beside all this", b.sums(), sums(first))
        finishes(a, b, device, seen)
        protected(a, b, device, seen)
        check("versions", [one["label"] for one in b.versions(seen)], [f"v{number}" for number in range(1, 9)])
        b.run("datasetfsctl switch /mnt")
        check("the last version", b.sums(), sums(second))
        b.run(f"datasetfsctl verify {seen}", limit=240)


if __name__ == "__main__":
    main(scenarios)
