#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once queue=fabric in=none timeout=900
"""Paths to the target come and go under readers: they wait, or use the other path; what does not come back is EIO."""
from fabric import NQN, PORTALS, Fabric, Readers, check, check_contains, main, make_tree, say, sums, wait_for

DEADLINE = 12
# Past the page cache, as the kernel asks a second time for what it failed to read ahead;
# with the guest's clock around it.
DIRECT_READ = """read begun rest </proc/uptime
dd if=/mnt/{path} of=/dev/null bs=4096 count=1 iflag=direct
status=$?
read now rest </proc/uptime
echo $begun $now
exit $status"""


def path_is(host, portal, state):
    wait_for(f"{host.name}: path {portal} is {state}", lambda: (portal, state) in host.paths().values())


def controller(host, portal):
    return next(name for name, (address, _) in host.paths().items() if address == portal)


def told(host, seconds, state):
    """The daemon's log says for how long reads have waited, and for what."""
    line = f"have waited {seconds} s: {state}"
    wait_for(f"the daemon's log says '{line}'", lambda: line in host.messages())


def only_portal(net, host, source, seconds):
    """The only path is gone: readers wait, and are told of; Ctrl-C ends one;
    when it is back they go on without an error.

    seconds: the lines of the log to wait for."""
    readers = Readers(host, source)
    away = f"{controller(host, PORTALS[0])} connecting, 0 of 1 paths live"
    net.target.nvmet(f"port-down {NQN} {PORTALS[0]}")
    told(host, 1, away)
    before = readers.done()
    signal_ends_a_wait(host, source)
    for number in seconds:
        told(host, number, away)
    stats = host.stats()
    check("stats.json", (stats["stalls"] > 0, stats["stalled_since"] > 0, stats["read_failures"]), (True, True, 0))
    check("files read meanwhile", readers.done(), before)
    path_is(host, PORTALS[0], "connecting")
    net.target.nvmet(f"port-up {NQN} {PORTALS[0]}")
    readers.go_on()
    check("reads after the port came back", readers.stop(), [])
    check_contains("the daemon's log", host.messages(), "waits any more, after")
    say(f"port removed and restored: readers waited, with lines after 1, {', '.join(map(str, seconds))} s; "
        "Ctrl-C meanwhile")


def largest(source):
    return max(sums(source), key=lambda name: (source / name).stat().st_size)


def signal_ends_a_wait(host, source):
    """Ctrl-C ends a program that waits for the device."""
    path = largest(source)
    # A direct read would not end: the kernel waits for those without telling us of signals (FUSE_ASYNC_DIO).
    host.run(f"echo 1 >/proc/sys/vm/drop_caches; timeout -s INT 2 cat /mnt/{path}", status=130, limit=60)


def other_portal(net, host, source):
    """With two portals either may go; reads do not wait for it."""
    net.target.nvmet(f"port-up {NQN} {PORTALS[1]}")
    host.connect(*PORTALS)
    path_is(host, PORTALS[1], "live")
    readers = Readers(host, source)
    for portal in PORTALS:
        net.target.nvmet(f"port-down {NQN} {portal}")
        path_is(host, portal, "connecting")
        readers.go_on()
        path_is(host, portal, "connecting")
        if portal == PORTALS[1]:
            target_freezes(net, host, portal)
            readers.go_on()
        net.target.nvmet(f"port-up {NQN} {portal}")
        path_is(host, portal, "live")
    check("reads over the other path", readers.stop(), [])
    say("two portals: reads go on without either of them")


def target_freezes(net, host, away):
    """No answer by the path that is left: the log says that there is one, and which other one is away."""
    net.target.monitor("stop")
    told(host, 1, f"{controller(host, away)} connecting, 1 of 2 paths live")
    net.target.monitor("cont")


def namespace_goes(net, host, source, uuid):
    """A namespace that is detached is gone at once: readers wait; it comes back under another name, and they go on."""
    before = host.device(uuid)
    readers = Readers(host, source)
    net.target.nvmet(f"detach {NQN} 1")
    wait_for("the device is gone", lambda: not host.device_now(uuid))
    readers.stand_still()
    net.target.nvmet(f"attach {NQN} 1 /dev/vda")
    after = host.device(uuid)
    if after == before:
        raise AssertionError(f"the namespace came back as {before}: this shows nothing")
    readers.go_on()
    check("reads after the namespace came back", readers.stop(), [])
    check_contains("the daemon's log", host.messages(), f"was lost and is open again, as '{after}'")
    check(f"read from {after}", host.sums(), sums(source))
    say(f"namespace detached and attached: {before} is {after} now")


def mount_anew(host, uuid, options, connection=""):
    """With other options, after a new connection, and with a log that says nothing yet."""
    host.run("umount /mnt")
    host.disconnect()
    host.connect(options=connection)
    host.run(": >/run/messages")
    host.mount(host.device(uuid), options)


def deadline_comes_first(net, host, source, uuid, options):
    """The kernel would hold the reads for 600 s: none fails before the mount's deadline, then one does;
    Ctrl-C ends one sooner."""
    mount_anew(host, uuid, f"{options} -o deadline={DEADLINE}", "--ctrl-loss-tmo 600 --fast-io-fail-tmo off")
    away = f"{controller(host, PORTALS[0])} connecting, 0 of 1 paths live"
    net.target.nvmet(f"port-down {NQN} {PORTALS[0]}")
    path_is(host, PORTALS[0], "connecting")
    read = host.start(DIRECT_READ.format(path=largest(source)))
    told(host, 1, away)
    signal_ends_a_wait(host, source)
    told(host, 10, away)
    status, output = read.wait()
    check("paths at the deadline", list(host.paths().values()), [(PORTALS[0], "connecting")])
    check("status of a read at the deadline", status, 1)
    check_contains("a read at the deadline", output, "Input/output error")
    begun, ended = map(float, output.split()[-2:])
    if ended - begun < DEADLINE:
        raise AssertionError(f"a read failed after {ended - begun:.2f} s, before its deadline of {DEADLINE} s")
    net.target.nvmet(f"port-up {NQN} {PORTALS[0]}")
    path_is(host, PORTALS[0], "live")
    check("read when the port is back", host.sums(), sums(source))
    say(f"port away for longer than the deadline, which NVMe is not: EIO after {ended - begun:.1f} s")


def nothing_waits(net, host, source, uuid, options):
    """on_error=eio: what the device fails is EIO long before the deadline (300 s);
    the volume is found again all the same."""
    mount_anew(host, uuid, f"{options} -o on_error=eio")
    read = DIRECT_READ.format(path=largest(source))
    net.target.nvmet(f"detach {NQN} 1")
    wait_for("the device is gone", lambda: not host.device_now(uuid))
    check_contains("a read with on_error=eio", host.run(read, status=1, limit=60), "Input/output error")
    net.target.nvmet(f"attach {NQN} 1 /dev/vda")
    host.device(uuid)
    wait_for("a read when the namespace is back", lambda: "Input/output error" not in host.run(read, status=None))
    check("read when the namespace is back", host.sums(), sums(source))
    say("on_error=eio: EIO without a wait")


def port_stays_away(net, host, source, uuid, options):
    """When the kernel gives up (ctrl_loss_tmo) the device is gone: EIO at the deadline,
    and service after a new connection."""
    mount_anew(host, uuid, f"{options} -o deadline=8", "--ctrl-loss-tmo 4 --fast-io-fail-tmo off")
    readers = Readers(host, source)
    net.target.nvmet(f"port-down {NQN} {PORTALS[0]}")
    wait_for("the device is gone", lambda: not host.device_now(uuid))
    wait_for("readers that get an error", readers.faults)
    check("errors", {line.split(": ")[-1] for line in readers.stop()}, {"Input/output error"})
    check_contains("the daemon's log", host.messages(), "failed: the device ")
    check("names without a device", host.run("ls /mnt | wc -l").strip(), "7")
    net.target.nvmet(f"port-up {NQN} {PORTALS[0]}")
    host.connect()
    host.device(uuid)
    check("read after a new connection", host.sums(), sums(source))
    say("port removed for good: EIO")


def paths(net, host, source, options="", seconds=(10,)):
    """All of it, for one host that is connected by the first portal. source: what the current version holds."""
    uuid = net.uuid()
    host.mount(host.device(uuid), options)
    only_portal(net, host, source, seconds)
    other_portal(net, host, source)
    namespace_goes(net, host, source, uuid)
    deadline_comes_first(net, host, source, uuid, options)
    nothing_waits(net, host, source, uuid, options)
    port_stays_away(net, host, source, uuid, options)


def scenarios():
    """With the kernel of this Debian release."""
    source = make_tree("tree", 3)
    with Fabric("stable", ["a"], {"tree": source}) as net:
        host, = net.hosts
        net.target.nvmet(f"up {NQN} /dev/vda {PORTALS[0]}")
        net.target.nvmet(f"allow-any {NQN}")
        host.connect()
        host.run(f"mkdatasetfs {host.device(net.uuid())} /src/tree")
        paths(net, host, source, seconds=(10, 60))


if __name__ == "__main__":
    main(scenarios)
