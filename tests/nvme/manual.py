#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once queue=fabric in=none timeout=900
"""datasetfs-nvme(7), as it stands: the target, a publisher and a worker are set up by the manual's own commands."""
import os
import pathlib
import re

from fabric import Fabric, check, check_contains, main, make_tree, say, sums

# Not for a guest: packages, modules, the build, the service manager.
ELSEWHERE = re.compile(r"modprobe|contrib/|meson|systemctl|systemd-escape|/etc/systemd|/etc/udev|^ACTION|^END")


def section(title, page="datasetfs-nvme.7"):
    """The commands of a section, without prompts."""
    text = (pathlib.Path(os.environ["DATASETFS_SOURCE"]) / "man" / page).read_text()
    text = text.split(f"\n.SH {title}\n")[1].split("\n.SH ")[0].replace("\\-", "-").replace("\\(aq", "'")
    lines = [line[6:] for line in text.splitlines() if re.match("    [#>] ", line)]
    return "\n".join(line for line in lines if not ELSEWHERE.search(line))


def manual(net, source):
    """On two hosts, which have the source as /src/train and other names afterwards."""
    names = []
    for host in net.hosts:
        # A host without a name: the manual's commands are to give it one.
        host.run("rm -r /etc/nvme")
        host.run(section("HOSTS"))
        name, number = host.run("cat /etc/nvme/hostnqn /etc/nvme/hostid").split()
        check("the id is the UUID of the name", name, f"nqn.2014-08.org.nvmexpress:uuid:{number}")
        host.run(section("HOSTS"))
        check("the name on a second run", host.run("cat /etc/nvme/hostnqn").strip(), name)
        names.append(name)
    target = section("TARGET").replace("/dev/nvme1n1", "/dev/vda")
    target = target.replace("nqn.2014-08.org.nvmexpress:uuid:...", " ".join(names))
    check("what the target's commands say", net.target.run(target), "")
    publisher, worker = net.hosts
    publisher.run("mkdir /data; mv /src/train /data")
    said = publisher.run(section("PUBLISHING"), limit=240)
    for part in ("tcp://192.0.2.1:4420 is connected as nvme", "tcp://192.0.2.2:4420 is connected as nvme",
                 "nvme:uuid:3f2504e0-4f89-41d3-9a0c-0305e82c3301", "version 'v1'"):
        check_contains("PUBLISHING", said, part)
    say("target and publisher")
    *up, switch, status, umount, disconnect = section("WORKERS").splitlines()
    worker.run("\n".join(up))
    check("the files", worker.sums("/mnt/train"), sums(source))
    publisher.run("echo more >/data/train/more")
    publisher.run("mkdatasetfs --label v2 nvme:uuid:3f2504e0-4f89-41d3-9a0c-0305e82c3301 /data/train", limit=240)
    worker.run(switch)
    check_contains(status, worker.run(status), "v2")
    check("the file of v2", worker.run("cat /mnt/train/more"), "more\n")
    check_contains("disconnect while mounted", worker.run(disconnect, status=1), "is in use")
    worker.run(section("MULTIPATH").replace("queue-depth", "round-robin"))
    check_contains("list", worker.run("datasetfsctl nvme list"), "192.0.2.2")
    worker.run(f"{umount}\n{disconnect}")
    check("paths", worker.paths(), {})
    publisher.run(disconnect)
    net.target.forget(disconnect.split()[-1])
    say("worker")


def scenarios():
    """With the kernel of this Debian release."""
    source = make_tree("train", 1)
    with Fabric("stable", ["publisher", "worker"], {"train": source}) as net:
        manual(net, source)


if __name__ == "__main__":
    main(scenarios)
