#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once queue=fabric in=none timeout=900
"""The transports beside TCP against real targets: RDMA between two hosts (RoCE without a card for it), loop on one."""
from fabric import NQN, PORTALS, Fabric, check, check_contains, main, make_tree, say, sums, wait_for
from kernel import Missing
from verbs import NOTHING, answer, nvme, warned

LOOP_UUID = "01234567-89ab-4def-8123-456789abcdef"


def need_modules(guest, *names):
    there = guest.run("ls /sys/module").split()
    for name in names:
        if name not in there:
            raise Missing(f"the kernel package has no {name}")


def connects(host, portal, address):
    """discover and connect; gives the names of the controller and of the device.
    address: transport, address, service."""
    offered = [one for one in answer(host, f"discover {portal}")["subsystems"] if not one["discovery"]]
    check("discover", offered, [{"nqn": NQN, "transport": address[0], "portal": portal, "discovery": False}])
    check("controllers after discover", host.run("ls /sys/class/nvme"), "")
    printed = nvme(host, f"connect {NQN} {portal}").splitlines()
    listed, = answer(host, "list")["namespaces"]
    path, = listed["paths"]
    check("the path", (path["transport"], path["address"], path["service"], path["state"]), (*address, "live"))
    name, device = path["controller"], f"/dev/{listed['device']}"
    check("connect", printed, [f"{portal} is connected as {name}", f"{device} {listed['identity']}"])
    check("connect again", nvme(host, f"connect {NQN} {portal}").splitlines()[0],
          f"{portal} was already connected as {name}")
    return name, device


def looks(host, volume, name, shown):
    """list and inspect of a namespace with one path. shown: its transport and address."""
    check_contains("list", " ".join(nvme(host, "list").split()), f"{name} {shown} live")
    check_contains("inspect", " ".join(nvme(host, f"inspect {volume}").split()), f"{name} {shown}, live, ")
    check("warnings", warned(host, volume) - {"lba-512"}, {"writable", "one-path"})


def serves(host, volume, source):
    """A volume is published, mounted by its identity, and read."""
    host.run(f"mkdatasetfs --progress none {volume} /src/tree")
    host.mount(volume)
    check("the files", host.sums(), sums(source))


def disconnects(host, name, device):
    check_contains("disconnect under a mount", nvme(host, f"disconnect {NQN}", status=1), "is in use, --force")
    host.run("umount /mnt")
    check("disconnect", nvme(host, f"disconnect {NQN}"), f"{name} is disconnected\n")
    wait_for("the device is gone", lambda: host.run(f"ls {device} 2>/dev/null || true") == "")
    wait_for("the subsystem is gone", lambda: nvme(host, "list") == NOTHING)


def round_trip(host, portal, address, uuid, source):
    name, device = connects(host, portal, address)
    looks(host, f"nvme:uuid:{uuid}", name, portal.replace("://", " "))
    serves(host, f"nvme:uuid:{uuid}", source)
    disconnects(host, name, device)
    say(portal)


def rdma_card(guest, card, address):
    """RDMA over a network card that has no notion of it; ready when its table of addresses has this one."""
    need_modules(guest, "rdma_rxe", "nvmet_rdma", "nvme_rdma")
    guest.run(f"rdma link add rxe0 type rxe netdev {card}")
    number = "{:02x}{:02x}:{:02x}{:02x}".format(*map(int, address.split(".")))
    wait_for(f"{guest.name}: {address} at its RDMA device",
             lambda: guest.run(f"grep -l ffff:{number} /sys/class/infiniband/rxe0/ports/1/gids/* 2>/dev/null || true"))


def rdma(net, host, source):
    rdma_card(net.target, "br0", PORTALS[0])
    rdma_card(host, "eth0", f"192.0.2.{host.address}")
    net.target.nvmet(f"up {NQN} /dev/vda rdma://{PORTALS[0]}")
    net.target.nvmet(f"allow {NQN} {host.nqn}")
    check_contains("show", net.target.nvmet("show"), f"  portal rdma {PORTALS[0]} 4420\n")
    round_trip(host, f"rdma://{PORTALS[0]}:4420", ("rdma", PORTALS[0], "4420"), net.uuid(), source)
    net.target.nvmet(f"down {NQN}")


def loop(host, source):
    """Target and host are one machine. Debian 12's kernel has no such module."""
    need_modules(host, "nvme_loop")
    host.run("truncate -s 96M /run/volume")
    host.run(f"nvmet-target --buffered --uuid {LOOP_UUID} up {NQN} /run/volume loop && "
             f"nvmet-target allow {NQN} {host.nqn}")
    check_contains("show", host.run("nvmet-target show"), "  portal loop\n")
    round_trip(host, "loop", ("loop", "", ""), LOOP_UUID, source)
    host.run(f"nvmet-target down {NQN}")


def scenarios():
    source = make_tree("tree", 4, count=30)
    with Fabric("newest", ["a"], {"tree": source}, transports=True) as net:
        rdma(net, net.hosts[0], source)
        loop(net.hosts[0], source)


main(scenarios)
