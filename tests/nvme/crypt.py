#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once queue=fabric in=none timeout=900
"""LUKS2 on every member of a mirrored volume, by the commands of CLUSTER.md: packed, opened by crypttab, mounted on two
hosts, by the kernel as well, fenced, write-protected, replaced, and opened again when a namespace went and is back; the
target has only ciphertext."""
import json
import os
import pathlib
import re

from fabric import Fabric, Readers, check, check_contains, main, make_tree, say, sums, wait_for
from members import Members, states, states_in_use
from publish import Halfway, publish
from reservation import kept_out, reserved

SOURCE = pathlib.Path(os.environ["DATASETFS_SOURCE"])
# In a file of every version, for a look at the target's disks.
CLEAR = b"nobody on the fabric can read this line. " * 200
KEY = "/etc/datasetfs/train.key"
# So that a guest, whose processor is emulated, needs no minute for a key.
QUICK = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000"


def commands(verb):
    """The commands of CLUSTER.md, Encryption at rest, that begin like this."""
    text = (SOURCE / "contrib/CLUSTER.md").read_text().split("\n## Encryption at rest\n")[1].split("\n## ")[0]
    blocks = "".join(re.findall(r"^```\n(.*?)^```\n", text, re.M | re.S))
    return [line.partition("  #")[0].strip() for line in blocks.splitlines() if line.startswith(verb)]


def crypt(host, command, device, name="", status=0):
    """A command of the manual, for this device and mapping."""
    words = command.replace("/dev/nvme0n1", device).replace("luksFormat", f"luksFormat {QUICK}")
    if name:
        words = re.sub(" train$", f" {name}", words)
    return host.run(f"export DM_DISABLE_UDEV=1; {words}", status, limit=240)


def close(host, *names, options=""):
    for name in names:
        host.run(f"DM_DISABLE_UDEV=1 cryptsetup close {options} {name}")


def opens(host, devices, read_only=False, prefix="train"):
    """Opens mappings with the manual's words: the paths."""
    writable, worker = commands("cryptsetup open")
    for number, device in enumerate(devices):
        crypt(host, worker if read_only else writable, device, f"{prefix}{number}")
    return [f"/dev/mapper/{prefix}{number}" for number in range(len(devices))]


def has_flags(host, mapping):
    table = host.run(f"dmsetup table {mapping}")
    for flag in "sector_size:4096", "no_read_workqueue", "no_write_workqueue":
        check_contains(f"the mapping {mapping}", table, flag)


def opens_at_boot(host, devices, uuids):
    """Opens mappings for a worker by what systemd's generator makes of the manual's line of crypttab(5). There is no
    systemd here to run it, and no udev to name the devices."""
    line, = commands("train /dev/disk")
    host.run("mkdir -p /dev/disk/by-id /run/units; : >/etc/crypttab")
    for number, (device, uuid) in enumerate(zip(devices, uuids)):
        check("what udev takes for the name", host.run(f"cat /sys/block/{device[5:]}/wwid").strip(), f"uuid.{uuid}")
        text = line.replace("train /", f"train{number} /").replace("3f2504e0-4f89-41d3-9a0c-0305e82c3301", uuid)
        host.run(f"ln -s {device} {text.split()[1]}; echo '{text}' >>/etc/crypttab")
    host.run("systemd-cryptsetup-generator /run/units /run/units /run/units")
    for number in range(len(devices)):
        unit = f"/run/units/systemd-cryptsetup@train{number}.service"
        command = host.run(f"sed -n 's/^ExecStart=.*\\/systemd-cryptsetup /systemd-cryptsetup /p' {unit}").strip()
        check_contains("the unit", command, f"attach 'train{number}'")
        print(command)
        host.run(f"export DM_DISABLE_UDEV=1; {command}", limit=240)
        has_flags(host, f"train{number}")
    say("opened by crypttab")


def formats(a, b, devices):
    """The key on both hosts, and a header on each namespace."""
    make_key, = commands("(umask")
    for host in a, b:
        host.run("mkdir -p /etc/datasetfs /root")
    a.run(make_key)
    key = a.run(f"base64 {KEY}")
    b.run(f"umask 077; base64 -d >{KEY} <<'END'\n{key}END")
    check("mode of the key", a.run(f"stat -c %a {KEY}").strip(), "600")
    luks_format, = commands("cryptsetup luksFormat")
    backup, = commands("cryptsetup luksHeaderBackup")
    for number, device in enumerate(devices):
        crypt(a, luks_format, device)
        crypt(a, backup.replace("train.luks", f"train{number}.luks"), device)
    say("LUKS2 on every namespace")


def recorded(host, device):
    """What tests/lib/crypt.sysfs has is there, by the kernel's names; those of the record are nvme-subsys0, nvme0n1,
    259:1 and dm-0, 253:0."""
    space = device.rpartition("/")[2]
    folder = host.run(f"realpath /sys/block/{space}").strip()
    subsystem = folder.rpartition("/")[0].rpartition("/")[2]
    numbers = {name: host.run(f"cat /sys/block/{name}/dev").strip() for name in (space, "dm-0")}
    for line in (SOURCE / "tests/lib/crypt.sysfs").read_text().splitlines():
        if line.startswith("#"):
            continue
        path, value = line.split(" ", 1)
        for was, now in ("nvme-subsys0", subsystem), ("nvme0n1", space), ("259:1", numbers[space]), \
                        ("253:0", numbers["dm-0"]):
            path, value = path.replace(was, now), value.replace(was, now)
        path = f"/sys/class/nvme-subsystem/{path}".replace("/sys/class/nvme-subsystem/../..", "/sys")
        found = host.run(f"if [ -L {path} ]; then basename $(realpath {path}); else cat {path}; fi").strip()
        print(f"{path} {found}")
        if value.startswith("-> "):
            check(path, found, value.rpartition("/")[2])
        elif "dm/uuid" in path:
            check(path, re.sub("[0-9a-f]{32}", "", found), "CRYPT-LUKS2--train0")
        elif "size" not in path and "dm/name" not in path:
            check(path, found, value)


def packed(members, a, devices):
    """A publish by the identities of the namespaces; the volume's UUID."""
    check_contains("a publish while nothing is open", publish(a, members.identities[0], "never", status=1),
                   "it holds a filesystem or volume of type crypto_LUKS")
    mappings = opens(a, devices)
    recorded(a, devices[0])
    for number in range(len(devices)):
        has_flags(a, f"train{number}")
        check_contains("list", a.run("datasetfsctl nvme list"), f"crypt, '{mappings[number]}'")
    said = publish(a, members.list, "v1", options="--protect mirror:2")
    check("a publish without a fence", "nothing keeps other hosts" in said, False)
    found = json.loads(a.run(f"datasetfsctl list --json {members.list}"))
    check("identities", [one["identity"] for one in found["member_list"]], members.identities)
    check("failure domains", [one["domain"] for one in found["member_list"]], members.domains)
    for name, device in zip(mappings, devices):
        for by in name, device:
            shown = json.loads(a.run(f"datasetfsctl nvme inspect --json {by}"))
            check(f"inspect of {by}", (shown["device"], shown["crypt"], f"/dev/mapper/{shown['mapping']}"),
                  (device.rpartition("/")[2], True, name))
    say("packed on mappings, by the identities of the namespaces")
    return found["uuid"]


def mounted(members, a, b, theirs, volume, source):
    """On the publisher and on a worker, whose mappings are read-only."""
    check_contains("a namespace that is not open", b.run(f"datasetfsctl list {members.identities[0]}", status=1),
                   "superblock: encrypted by LUKS and not open on this host")
    opens_at_boot(b, theirs, [identity.rpartition(":")[2] for identity in members.identities])
    for number in range(len(theirs)):
        mapping = f"/dev/mapper/train{number}"
        check("a mapping on a worker", b.run(f"blockdev --getro {mapping}; blockdev --getss {mapping}").split(),
              ["1", "4096"])
    a.mount(members.list)
    b.mount(volume)
    for host in a, b:
        check(f"{host.name}: the files", host.sums(), sums(source))
        check(f"{host.name}: members on dm-crypt", host.stats()["crypt_members"], 2)
        check_contains(f"{host.name}: status", host.run("datasetfsctl status /mnt"), "at rest           crypt\n")
    refused = publish(b, volume, "never", status=1)
    check_contains("a publish on a worker", refused, "its mapping is read-only on this host")
    check_contains("disconnect under a mount", b.run(f"datasetfsctl nvme disconnect {members.domains[0]}", status=1),
                   "is in use, --force disconnects it anyway: the mapping 'train0' lies on it: 'cryptsetup close'")
    say("mounted on two hosts, read-only on one")


def by_kernel(b, volume, source):
    """A mount that the kernel serves gives the same files, and the daemon's goes on beside it."""
    b.run(f"mkdir -p /run/kernel; datasetfs -o kernel {volume} /run/kernel")
    check_contains("the mount", b.run("cat /proc/mounts"), " /run/kernel erofs ro")
    check("the files", b.sums("/run/kernel"), sums(source))
    b.run("umount /run/kernel")
    check("the files of the daemon", b.sums(), sums(source))
    say("a mount that the kernel serves")


def fenced(members, a, b, ours, volume):
    """b opens the mappings for writing, and is kept out of all namespaces while a publishes."""
    devices = members.devices(b)
    b.run("umount /mnt")
    close(b, "train0", "train1")
    theirs = opens(b, devices)
    publisher = Halfway(a, ours[0], "halfway", volume=members.list)
    for mapping in theirs:
        reserved(b, mapping, a, "of a publisher")
    kept_out(b, volume, a, theirs)
    check("status of a killed publisher", publisher.end("KILL")[0], 137)
    kept_out(b, volume, a, theirs)
    taken = publish(b, volume, "v2", "v2", options="--preempt")
    check("members that were taken", taken.count(f"took the reservation away from host {a.hostid} and keeps it"), 2)
    for mapping in ours:
        reserved(a, mapping, b, "after --preempt")
    for mapping in theirs:
        check_contains("release", b.run(f"datasetfsctl nvme release {mapping}"), "is no longer reserved")
    say("a second publisher is refused by the namespaces below the mappings, and --preempt takes them")


def protected(members, a, b, volume):
    """Write protection is the namespaces', and a mapping that is opened meanwhile stays read-only."""
    devices = members.devices(a)
    publish(b, volume, "v3", "v2", options="--write-protect")
    for device in devices:
        wait_for("a namespace that is read-only", lambda one=device: a.run(f"blockdev --getro {one}").strip() == "1")
    check("a mapping that was open", a.run("blockdev --getro /dev/mapper/train0").strip(), "0")
    check_contains("a publish", publish(a, volume, "never", status=1), "it is write-protected; --write-protect lifts")
    check_contains("a change", a.run(f"datasetfsctl current {volume} v1", status=1),
                   "the device below its mapping is read-only or write-protected")
    close(b, "train0", "train1")
    opens(b, members.devices(b), read_only=True)
    check_contains("a publish on mappings that are read-only",
                   publish(b, volume, "never", options="--write-protect", status=1), "its mapping is read-only")
    for device in devices:
        check("write protection after that",
              json.loads(a.run(f"datasetfsctl nvme inspect --json {device}"))["write_protected"], True)
    publish(a, volume, "v4", "v1", options="--write-protect")
    for identity in members.identities:
        a.run(f"datasetfsctl nvme protect --off {identity}")
    say("write-protected between publishes")


def replaced(members, a, b, third, volume):
    """A namespace with a mapping takes the place of member 1 under mounts."""
    target = members.net.target
    members.put(1, target, 3)
    for host, read_only in (a, False), (b, True):
        opens(host, [host.device(target.uuid(3))], read_only, prefix=third)
    b.mount(volume)
    said = a.run(f"datasetfsctl member replace {volume} 1 {members.identities[1]}", limit=240)
    check_contains("replace", said, f"'{members.identities[1]}' is now member 1 of '{volume}'")
    check_contains("replace", said, "every group has all its columns")
    for host in b, a:
        wait_for(f"{host.name}: the new member is used", lambda one=host: states_in_use(one) == ["ok"] * 2)
        check(f"{host.name}: members on dm-crypt", host.stats()["crypt_members"], 2)
        host.run("datasetfsctl switch /mnt")
    close(a, "train1")
    close(b, "train1")
    say("a mapping took the place of another under mounts")


def comes_back(members, b, source):
    """Member 0 goes from the target and comes back under another name, where another mapping is opened."""
    target, identity = members.net.target, members.identities[0]
    uuid = target.uuid(1)
    before = b.device(uuid)
    readers = Readers(b, source)
    target.nvmet(f"detach {target.nqn} 1")
    wait_for("the device is gone", lambda: not b.device_now(uuid))
    readers.go_on()
    wait_for("the mount says so", lambda: states(b)[0] != "ok")
    target.nvmet(f"attach {target.nqn} 1 /dev/vda")
    after = b.device(uuid)
    print(f"{before} is {after} now")
    shown = json.loads(b.run(f"datasetfsctl nvme inspect --json {identity}"))
    check("the mapping that leads nowhere", (shown["mapping"], shown["crypt"]), (None, False))
    opens(b, [after], read_only=True, prefix="again")
    # By the identity that it had, or by a search for members: whichever comes first.
    again = re.compile("member 0 of .*(was lost and is open again, as '/dev/mapper/again0'"
                       "|is used again, it is '/dev/dm-)")
    found = wait_for("the daemon's log", lambda: again.search(b.messages()))
    print(found[0])
    check("the new mapping", b.run("dmsetup info -c --noheadings -o open again0").strip() != "0", True)
    wait_for("all members", lambda: states_in_use(b) == ["ok"] * 2)
    check("what readers found", readers.stop(), [])
    check("the files", b.sums(), sums(source))
    close(b, "train0", options="--deferred")
    wait_for("the old mapping is gone", lambda: "train0" not in b.run("dmsetup ls"))
    say("a namespace went and is back, and is opened again by its identity")


def linear(a, device):
    """A linear mapping on dm-crypt's: the identity leads to it, and several beside each other are refused."""
    a.run("umount /mnt")
    size = int(a.run("blockdev --getsz /dev/mapper/third0")) // 2
    a.run(f"export DM_DISABLE_UDEV=1; dmsetup create first --table '0 {size} linear /dev/mapper/third0 0'")
    check_contains("list", a.run("datasetfsctl nvme list"), "crypt, '/dev/mapper/first'")
    a.run(f"export DM_DISABLE_UDEV=1; dmsetup create second --table '0 {size} linear /dev/mapper/third0 {size}'")
    identity = json.loads(a.run(f"datasetfsctl nvme inspect --json {device}"))["identity"]
    check_contains("two mappings", a.run(f"datasetfsctl list {identity}", status=1),
                   "name the volume by the path of its own: the mappings 'first' and 'second' both lie on it")
    a.run("export DM_DISABLE_UDEV=1; dmsetup remove first; dmsetup remove second")
    say("a linear mapping on dm-crypt's")


def is_ciphertext():
    """Nothing on the target's disks is in clear text."""
    for disk in "volume.img", "volume.2.img", "volume.3.img":
        data = pathlib.Path(disk).read_bytes()
        check(f"{disk} begins", data[:6], b"LUKS\xba\xbe")
        for word in CLEAR[:41], b"\x89DSFS":
            check(f"{word} on {disk}", word in data, False)


def scenarios():
    first = make_tree("v1", 1, count=40)
    (first / "clear").write_bytes(CLEAR)
    second = make_tree("v2", 2, like=first, count=40)
    large = make_tree("large", 3, count=120)
    with Fabric("newest", ["a", "b"], {"v1": first, "v2": second, "large": large}, crypt=True, disks=(3,)) as net:
        a, b = net.hosts
        net.target.offer(net.hosts)
        for host in net.hosts:
            host.connect(options="--fast-io-fail-tmo 2")
        members = Members(net, (net.target, 1), (net.target, 2))
        ours, theirs = members.devices(a), members.devices(b)
        third = a.device(net.target.uuid(3))
        formats(a, b, [*ours, third])
        volume = f"uuid:{packed(members, a, ours)}"
        mounted(members, a, b, theirs, volume, first)
        by_kernel(b, volume, first)
        fenced(members, a, b, ["/dev/mapper/train0", "/dev/mapper/train1"], volume)
        protected(members, a, b, volume)
        replaced(members, a, b, "third", volume)
        comes_back(members, b, first)
        linear(a, third)
    is_ciphertext()


if __name__ == "__main__":
    main(scenarios)
