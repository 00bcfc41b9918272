#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once queue=fabric in=none timeout=900
"""contrib/nvmet/nvmet-target: what it sets up, what it refuses, that it may be repeated, that nothing stays behind."""
from fabric import NQN, PORTALS, Fabric, check, check_contains, main, say

LEFT = "find /sys/kernel/config/nvmet -mindepth 2 -maxdepth 2 ! -name 'nqn.2014-08.org.nvmexpress.discovery'"


def sets_up(target):
    for _ in range(2):
        target.nvmet(f"up {NQN} /dev/vda {PORTALS[0]} {PORTALS[1]}:4421")
        target.nvmet(f"allow {NQN} nqn.2026-01.org.example:one nqn.2026-01.org.example:two")
    uuid = target.run(f"cat /sys/kernel/config/nvmet/subsystems/{NQN}/namespaces/1/device_uuid").strip()
    shown = [f"{NQN}", f"  namespace 1 /dev/vda uuid={uuid} enabled=1", f"  portal tcp {PORTALS[0]} 4420",
             f"  portal tcp {PORTALS[1]} 4421", "  host nqn.2026-01.org.example:one",
             "  host nqn.2026-01.org.example:two"]
    check("show", target.nvmet("show").splitlines(), shown)
    target.nvmet(f"port-down {NQN} {PORTALS[1]}:4421")
    target.nvmet(f"deny {NQN} nqn.2026-01.org.example:two")
    target.nvmet(f"port-up {NQN} [::1]")
    check("show", target.nvmet("show").splitlines(), [*shown[:3], "  portal tcp ::1 4420", shown[4]])
    target.nvmet(f"down {NQN}")
    check("what is left", target.run(LEFT), "")
    target.nvmet(f"up {NQN} /dev/vda {PORTALS[0]}")
    check("the same identity", target.nvmet("show").splitlines(), shown[:3])


def refuses(target):
    for words, reason in ((f"up {NQN} /dev/none {PORTALS[0]}", "no '/dev/none'"),
                          (f"port-up {NQN} 192.0.2.99", "portal '192.0.2.99' cannot be opened"),
                          (f"port-down {NQN} {PORTALS[1]}", f"'{NQN}' is not offered at '{PORTALS[1]}'"),
                          (f"attach {NQN} none /dev/vda", "namespace 'none' was refused"),
                          (f"detach {NQN} 2", f"'{NQN}' has no namespace 2"),
                          (f"deny {NQN} someone", "'someone' is not allowed by name"),
                          ("down nqn.none", "no subsystem 'nqn.none'")):
        check_contains(words, target.nvmet(words, status=1), reason)
    for words, reason in (("frob", "unknown verb 'frob'"), ("up", "'up' with 0 arguments"),
                          ("--none", "unknown option '--none'"),
                          (f"port-up {NQN} fe80::1", "write an IPv6 address in brackets")):
        check_contains(words, target.nvmet(words, status=2), reason)
    check("ports", target.run("ls /sys/kernel/config/nvmet/ports"), "1\n")


def admits(target, host):
    """A host comes in when it is allowed."""
    def refused():
        host.connect(status=1)
        check(f"{host.name}: controllers", host.paths(), {})
    refused()
    target.nvmet(f"allow {NQN} nqn.2026-01.org.example:other")
    refused()
    check_contains("allow-any beside names", target.nvmet(f"allow-any {NQN}", status=1), "'deny' them first")
    target.nvmet(f"deny {NQN} nqn.2026-01.org.example:other")
    target.nvmet(f"allow {NQN} {host.nqn}")
    host.connect()
    words = f"--uuid 01234567-89ab-4def-8123-456789abcdef attach {NQN} 2 /ram/volume"
    # A ramfs cannot be read directly; a tmpfs can, from Linux 6.6 on.
    check_contains(words, target.nvmet(words, status=1), "'/ram/volume' cannot be opened as a namespace")
    check("namespaces", target.run(f"ls /sys/kernel/config/nvmet/subsystems/{NQN}/namespaces"), "1\n")
    target.nvmet(f"--buffered {words}")
    say(f"a namespace of its own UUID is {host.device('01234567-89ab-4def-8123-456789abcdef')}")


def target(net, host):
    """All of it; nothing is offered before."""
    net.target.run("mkdir /ram && mount -t ramfs none /ram && "
                   "dd if=/dev/zero of=/ram/volume bs=1M count=8 2>/dev/null")
    sets_up(net.target)
    refuses(net.target)
    admits(net.target, host)


def scenarios():
    """With the kernel of this Debian release."""
    with Fabric("stable", ["a"]) as net:
        target(net, net.hosts[0])


if __name__ == "__main__":
    main(scenarios)
