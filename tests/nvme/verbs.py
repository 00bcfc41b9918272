#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once queue=fabric in=none timeout=900
"""datasetfsctl nvme against a real target: every verb as text and as JSON, volumes by identity, what is refused."""
import json

from fabric import NQN, PORTALS, Fabric, check, check_contains, main, make_tree, say, sums, wait_for

NOBODY = "192.0.2.99:4420"
SILENT = "no answer, or the kernel refused it; the kernel log says which"
NOTHING = "no NVMe subsystems on this host\n"
# The fields of each kind of object, as the manual lists them.
NAMESPACE = {"device", "identity", "subsystem", "nsid", "uuid", "nguid", "eui64", "size", "lba_size", "read_only",
             "crypt", "mapping"}
PATH = {"path", "controller", "transport", "address", "service", "state", "ana_state", "data_digest", "authentication",
        "tls", "queues", "queue_size", "numa_node", "reconnect_delay", "ctrl_loss_tmo", "fast_io_fail_tmo",
        "keep_alive_tmo"}
# The timeouts that connect sets, as the manual gives them.
TIMEOUTS = {"reconnect_delay": 2, "fast_io_fail_tmo": 300, "ctrl_loss_tmo": 3600, "keep_alive_tmo": 5}
FACTS = {"boundary", "write_granule", "write_alignment", "shared", "write_protected", "can_protect", "can_reserve"}


def nvme(host, words, status=0, limit=60):
    return host.run(f"datasetfsctl nvme {words}", status, limit)


def answer(host, words):
    """The JSON of a verb; what is said on the other output is left aside."""
    return json.loads(nvme(host, f"{words} --json 2>/dev/null"))


def uri(*portals):
    return " ".join(f"tcp://{portal}" for portal in portals)


def controller(host, portal):
    """The controller of a portal, as sysfs has it."""
    return next(name for name, (address, _) in host.paths().items() if address == portal)


def discovers(host):
    listed = nvme(host, f"discover {uri(*PORTALS)}").splitlines()
    check("discover", [line.split() for line in listed], [[f"tcp://{portal}:4420", NQN] for portal in PORTALS])
    found = answer(host, f"discover {uri(PORTALS[0])}")["subsystems"]
    check("discover --json", [one for one in found if not one["discovery"]],
          [{"nqn": NQN, "transport": "tcp", "portal": f"tcp://{PORTALS[0]}:4420", "discovery": False}])
    check("controllers after discover", host.paths(), {})
    check("discover where nobody is", nvme(host, f"discover {uri(NOBODY)}", status=1),
          f"datasetfsctl: cannot discover: '{uri(NOBODY)}': {SILENT}\n")
    say("discover")


def connects(net, host):
    """Both portals in one call, again without effect; the device is printed."""
    for nqn, portal, reason in ((NQN, NOBODY, SILENT), (NQN, f"{PORTALS[0]}:4421", "connection refused"),
                                ("nqn.none", f"{PORTALS[0]}:4420", SILENT)):
        check(f"connect {nqn} {portal}", nvme(host, f"connect {nqn} {uri(portal)}", status=1),
              f"datasetfsctl: cannot connect: '{uri(portal)}': {reason}\n")
    check("controllers after refusals", host.paths(), {})
    printed = nvme(host, f"connect {NQN} {uri(*PORTALS)}").splitlines()
    device = host.device(net.uuid())
    for portal, line in zip(PORTALS, printed):
        check("connect", line, f"tcp://{portal}:4420 is connected as {controller(host, portal)}")
    check("the device", printed[2:], [f"{device} nvme:uuid:{net.uuid()}"])
    before = host.paths()
    for portal, line in zip(PORTALS, nvme(host, f"connect {NQN} {uri(*PORTALS)}").splitlines()):
        check("connect again", line, f"tcp://{portal}:4420 was already connected as {controller(host, portal)}")
    host.run(f"echo {PORTALS[0]} storage >>/etc/hosts; echo 'hosts: files' >/etc/nsswitch.conf")
    check("connect again by a host name", nvme(host, f"connect {NQN} tcp://storage").splitlines(),
          [f"tcp://storage:4420 was already connected as {controller(host, PORTALS[0])}",
           f"{device} nvme:uuid:{net.uuid()}"])
    found = answer(host, f"connect {NQN} {uri(PORTALS[0], NOBODY)}")
    check("connect --json", set(found), {"subsystem", "portals", "namespaces"})
    check("its portals", found["portals"],
          [{"portal": f"tcp://{PORTALS[0]}:4420", "controller": controller(host, PORTALS[0]), "was_connected": True,
            "error": ""},
           {"portal": uri(NOBODY), "controller": "", "was_connected": False, "error": f"'{uri(NOBODY)}': {SILENT}"}])
    check("its namespaces", [(set(one), one["device"]) for one in found["namespaces"]],
          [(NAMESPACE, device.removeprefix("/dev/"))])
    check("paths after that", host.paths(), before)
    say("connect")
    return device


def looks(net, host, device, reservations):
    """list and inspect: identity, paths, warnings."""
    listed, = answer(host, "list")["namespaces"]
    check("list --json", set(listed), NAMESPACE | {"iopolicy", "paths"})
    check("its paths", [(set(path), path["address"], path["state"]) for path in listed["paths"]],
          [(PATH, portal, "live") for portal in PORTALS])
    check("its time-outs", [{name: path[name] for name in TIMEOUTS} for path in listed["paths"]], [TIMEOUTS] * 2)
    text = nvme(host, "list")
    for expected in (NQN, device.removeprefix("/dev/"), f"nvme:uuid:{net.uuid()}",
                     *(f"{portal}:4420" for portal in PORTALS)):
        check_contains("list", text, expected)
    found = answer(host, f"inspect {device}")
    unknown = set() if reservations else {"reservation_unknown"}
    check("inspect --json", set(found), NAMESPACE | FACTS | {"reservation", "iopolicy", "paths", "advice"} | unknown)
    check("identity", (found["identity"], found["subsystem"], found["nsid"], found["lba_size"], found["shared"]),
          (f"nvme:uuid:{net.uuid()}", NQN, 1, 512, True))
    check("can reserve", found["can_reserve"], reservations)
    warnings = {"writable", "digests", "lba-512"} | (set() if reservations else {"no-reservations"})
    check("warnings", warned(host, device), warnings)
    nvme(host, f"disconnect {controller(host, PORTALS[1])}")
    check("warnings with one path", warned(host, f"nvme://{NQN}/1"), warnings | {"one-path"})
    text = nvme(host, f"inspect {device}")
    for expected in (f"nvme:uuid:{net.uuid()}", f"tcp {PORTALS[0]}:4420, live", "warning:     only one path"):
        check_contains("inspect", text, expected)
    host.connect(*PORTALS)
    check("inspect of no namespace", nvme(host, "inspect /dev/vda", status=1),
          "datasetfsctl: cannot inspect: '/dev/vda' is not an NVMe namespace\n")
    say("list, inspect")
    return found["nguid"]


def warned(host, volume):
    return {advice["kind"] for advice in answer(host, f"inspect {volume}")["advice"] if advice["warning"]}


def mounts(net, host, nguid, source):
    """A volume by each of its identities."""
    names = [f"nvme:uuid:{net.uuid()}", f"nvme:nguid:{nguid}", f"nvme://{NQN}/1"]
    host.run(f"mkdatasetfs --progress none --label tree {names[0]} /src/tree")
    for name in names:
        host.mount(name)
        check(name, host.sums(), sums(source))
        host.run("umount /mnt")
    say("volumes by identity")


def protects(host, device):
    found = answer(host, f"protect {device}")
    check("protect --json", found, {"device": device, "write_protected": True})
    check("warnings of a protected namespace", "writable" in warned(host, device), False)
    check_contains("a publish", host.run(f"mkdatasetfs {device} /src/tree", status=1),
                   "it is write-protected; --write-protect lifts that")
    check("protect --off", nvme(host, f"protect --off {device}"), f"'{device}' is writable\n")
    say("protect")


def releases(host, device):
    """Nothing to give up, whether the target has reservations or not."""
    check("release --json", answer(host, f"release {device}"), {"device": device, "was_reserved": False})
    check("release", nvme(host, f"release {device}"), f"'{device}' was not reserved\n")


def disconnects(net, host, device):
    """Not under a mount, unless another path stays; then everything."""
    host.mount(device)
    first, second = (controller(host, portal) for portal in PORTALS)
    check_contains("disconnect under a mount", nvme(host, f"disconnect {NQN}", status=1),
                   "is in use, --force disconnects it anyway")
    check("disconnect of one path", answer(host, f"disconnect {second}"), {"disconnected": [second]})
    check_contains("disconnect of the last path", nvme(host, f"disconnect {first}", status=1), "is in use, --force")
    host.run("umount /mnt")
    check("disconnect", nvme(host, f"disconnect {NQN}"), f"{first} is disconnected\n")
    wait_for("the device is gone", lambda: not host.device_now(net.uuid()))
    check("controllers", host.paths(), {})
    check("disconnect again", nvme(host, f"disconnect {NQN}"), f"'{NQN}' was not connected\n")
    check("disconnect again --json", answer(host, f"disconnect {NQN}"), {"disconnected": []})
    wait_for("the subsystem is gone", lambda: nvme(host, "list") == NOTHING)
    check("list --json of nothing", answer(host, "list"), {"namespaces": []})
    say("disconnect")


def verbs(net, host, source, reservations):
    """All of it, for one host; the target offers nothing before and after. source: the host's /src/tree."""
    net.target.nvmet(f"up {NQN} /dev/vda {' '.join(PORTALS)}")
    net.target.nvmet(f"allow {NQN} {host.nqn}")
    discovers(host)
    device = connects(net, host)
    nguid = looks(net, host, device, reservations)
    mounts(net, host, nguid, source)
    protects(host, device)
    releases(host, device)
    disconnects(net, host, device)
    net.target.nvmet(f"down {NQN}")


def scenarios():
    """With the kernel of this Debian release."""
    source = make_tree("tree", 4, count=30)
    with Fabric("stable", ["a"], {"tree": source}) as net:
        verbs(net, net.hosts[0], source, reservations=False)


if __name__ == "__main__":
    main(scenarios)
