#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once queue=fabric timeout=900
"""One volume on the namespaces of two targets, mirrored: copies lie on different targets, so readers see no error and
no wrong byte while either of them has no power; a publisher is fenced on all members; what is published without a
target, once its host no longer tries to reach it, and a namespace of a third one in its place, under mounts that go
on."""
import json
import re

from fabric import Fabric, Readers, check, check_contains, main, make_tree, say, sums, wait_for
from manual import section
from publish import Halfway, publish
from reservation import kept_out, reserved


READ_AT_ONCE = """echo 1 >/proc/sys/vm/drop_caches
for folder in /mnt/class*; do cat $folder/* >/dev/null & done
wait"""


class Members:
    """The members of the volume, in the order of their numbers: target and namespace."""

    def __init__(self, net, *spaces):
        self.net = net
        self.identities = [""] * len(spaces)
        self.domains = [""] * len(spaces)
        for number, (target, nsid) in enumerate(spaces):
            self.put(number, target, nsid)

    def put(self, number, target, nsid):
        self.identities[number] = f"nvme:uuid:{target.uuid(nsid)}"
        self.domains[number] = target.nqn

    @property
    def list(self):
        return ",".join(self.identities)

    def devices(self, host):
        return [host.device(identity.rpartition(":")[2]) for identity in self.identities]


def attach(net):
    """Every target is offered and connected, with the times of datasetfs-members(7): reads that a dead one has come
    back soon, as there are copies."""
    for target in net.targets:
        target.offer(net.hosts)
    left, right, _ = net.targets
    commands = section("FAILOVER ON THE FABRIC", "datasetfs-members.7")
    for name, target in ("left", left), ("right", right):
        commands = commands.replace(f"nqn.2026-01.org.example:{name}", target.nqn)
    for host in net.hosts:
        check("connected", host.run(commands).count("is connected as"), 2)


def listed(host, volume):
    return json.loads(host.run(f"datasetfsctl list --json {volume}"))


def states(host):
    return [member["state"] for member in host.stats()["members"]]


def states_in_use(host):
    """As reads find them: a member that was suspect stays so until one of them has succeeded."""
    host.run("echo 1 >/proc/sys/vm/drop_caches; cat /mnt/class*/* >/dev/null")
    return states(host)


def lies_on_both(members, host):
    """What a publish with mirror:2 made; the volume's UUID."""
    found = listed(host, members.list)
    check("identities", [one["identity"] for one in found["member_list"]], members.identities)
    check("failure domains", [one["domain"] for one in found["member_list"]], members.domains)
    version = found["versions"][-1]
    check("what is mirrored", version["mirrored_bytes"], version["unique_bytes"] + version["shared_bytes"])
    return found["uuid"]


def target_off(target, lost, reader, source):
    """A target loses its power under readers, who go on; what they read is right, and every file is there."""
    readers = Readers(reader, source)
    target.power_off()
    readers.go_on()
    check(f"{reader.name}: all files", reader.sums(), sums(source))
    wait_for("the mount says who is silent",
             lambda: [number for number, state in enumerate(states(reader)) if state != "ok"] == lost)
    check("reads that failed", reader.stats()["read_failures"], 0)
    say(f"{target.name} has no power, members {lost} with it: readers go on")
    return readers


def target_on(target, members, lost, reader, readers):
    """It has power again, and a configuration: its members are read as before, without a new mount."""
    def counted():
        return [reader.stats()["members"][number]["reads"] for number in lost]

    def read_again():
        """Where few read, the daemon takes the copy that was faster by a little each time: so many read at once."""
        reader.run(READ_AT_ONCE)
        return min(new - old for new, old in zip(counted(), before)) > 5
    target.power_on()
    target.configure()
    target.offer(members.net.hosts)
    wait_for("the host is connected again", lambda: (target.portals[0], "live") in reader.paths().values())
    wait_for("no member is suspect", lambda: set(states(reader)) == {"ok"})
    before = counted()
    wait_for("its members are read again", read_again)
    check("what readers found", readers.stop(), [])
    say(f"{target.name} has power again, and is read")


def fenced(members, a, b, volume):
    """A publisher has every member reserved: no other host writes to any, until --preempt takes all."""
    ours, theirs = members.devices(a), members.devices(b)
    publisher = Halfway(a, ours[0], "halfway", volume=members.list)
    for device in theirs:
        reserved(b, device, a, "of a publisher")
    kept_out(b, volume, a, theirs)
    check("status of a killed publisher", publisher.end("KILL")[0], 137)
    kept_out(b, volume, a, theirs)
    taken = publish(b, volume, "v2", "v2", options="--preempt")
    check("members that were taken", taken.count(f"took the reservation away from host {a.hostid} and keeps it"), 3)
    for device in ours:
        reserved(a, device, b, "after --preempt")
    for identity in members.identities:
        check_contains("release", b.run(f"datasetfsctl nvme release {identity}"), "is no longer reserved")
    say("a publisher is fenced on all members, and --preempt takes all")


def given_up(host, lost, volume):
    """Nothing is published without a member that may be back in a moment, until the host is told that it will not be,
    by what the refusal says."""
    wait_for("the host reconnects", lambda: (lost.portals[0], "connecting") in host.paths().values())
    refused = publish(host, volume, "v3", options="--degraded", status=1)
    check_contains("a publish without a target", refused, "is reconnecting, and would be stale when it is back")
    remedy = re.search("give it up with '([^']*)'", refused)[1]
    check("what the refusal says", remedy, f"datasetfsctl nvme disconnect {lost.nqn}")
    check_contains(remedy, host.run(remedy), "is disconnected")
    printed = publish(host, volume, "v3", options="--degraded")
    check_contains("a publish without a target", printed, "is missing and becomes stale by this change")
    check_contains("a publish without a target", printed, "version 'v3'")
    say("published without a target that was given up")


def replaced(members, third, a, b, volume):
    """The target of member 2 does not come back. b has mounted without it, a before it went."""
    for host in a, b:
        host.connect(third.portals[0], options="--fast-io-fail-tmo 2", nqn=third.nqn)
    members.put(2, third, 1)
    said = a.run(f"datasetfsctl member replace {volume} 2 {members.identities[2]}", limit=240)
    check_contains("replace", said, f"'{members.identities[2]}' is now member 2 of '{volume}'")
    check_contains("replace", said, "every group has all its columns")
    lies_on_both(members, a)
    for host in b, a:
        wait_for(f"{host.name}: the new member is used", lambda: states_in_use(host) == ["ok"] * 3)
        host.run("datasetfsctl switch /mnt")
    say(f"a namespace of {third.name} is member 2 now")


def scenarios():
    first = make_tree("v1", 1, count=60)
    second = make_tree("v2", 2, like=first, count=60)
    large = make_tree("large", 3, count=120)
    with Fabric("newest", ["a", "b"], {"v1": first, "v2": second, "large": large}, disks=(2, 1, 1)) as net:
        a, b = net.hosts
        left, right, third = net.targets
        attach(net)
        members = Members(net, (left, 1), (left, 2), (right, 1))
        publish(a, members.list, "v1", options="--protect mirror:2")
        volume = f"uuid:{lies_on_both(members, a)}"
        b.mount(volume)
        readers = target_off(left, [0, 1], b, first)
        target_on(left, members, [0, 1], b, readers)
        fenced(members, a, b, volume)
        b.run("datasetfsctl switch /mnt")
        check("the version of the other host", b.sums(), sums(second))
        a.mount(members.list)
        check("by a list", a.sums(), sums(second))
        readers = target_off(right, [2], a, second)
        check("what readers found", readers.stop(), [])
        b.run("umount /mnt")
        b.mount(members.identities[1])
        check("a mount without a target", (states(b), b.sums()), (["ok", "ok", "missing"], sums(second)))
        say("mounted without a target")
        given_up(a, right, volume)
        replaced(members, third, a, b, volume)
        readers = target_off(left, [0, 1], b, first)
        check("what readers found", readers.stop(), [])


if __name__ == "__main__":
    main(scenarios)
