# SPDX-License-Identifier: MIT
"""Storage targets and their hosts as guests, and what the scenarios do with them and check of them.

Each target has a network of its own: a bridge in the target with one link to each host. The links are sockets that QEMU
inherits, so no other machine or program takes part. Addresses are documentation's: in its network a target has
192.0.2.1 and 192.0.2.2, hosts the ones from 192.0.2.11 on."""
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import time

import initramfs
import kernel
import tlshd
from guest import Failed, Guest, Patience, need_qemu

NQN = "nqn.2026-01.org.example:data"
PORTALS = ("192.0.2.1", "192.0.2.2")
NETWORKS = ("192.0.2", "198.51.100", "203.0.113")
VOLUME_BYTES = 256 << 20
CRYPT_TOOLS = (("cryptsetup", "cryptsetup-bin"), ("dmsetup", "dmsetup"),
               ("/lib/systemd/systemd-cryptsetup", "systemd-cryptsetup, before Debian 13 systemd"),
               ("/lib/systemd/system-generators/systemd-cryptsetup-generator", "systemd-cryptsetup or systemd"))
WAIT_SECONDS = 120
# Questions that are asked again and again, without a process for an answer.
CONTROLLERS = """for one in /sys/class/nvme/nvme*; do
    { read -r address <$one/address && read -r state <$one/state; } 2>/dev/null && echo ${one##*/} $address $state
done
true"""
NAMESPACES = """for one in /sys/block/nvme*; do
    case $one in */nvme*c*) continue;; esac
    { read -r uuid <$one/uuid; } 2>/dev/null && echo ${one##*/} $uuid
done
true"""
COUNTS = """for one in /run/reads.*; do
    { read -r count <$one; } 2>/dev/null && echo $count
done
true"""


def usual_kernel():
    """Of tests that need no particular one: that of all the others by default,
    with tests/run --all that of this Debian release."""
    return "stable" if os.environ.get("DATASETFS_FULL") == "1" else "newest"


def check(what, found, expected):
    if found != expected:
        raise Failed(f"{what}: found {found!r}, expected {expected!r}")


def check_contains(what, found, expected):
    if expected not in found:
        raise Failed(f"{what}: found {found!r}, expected {expected!r} in it")


def wait_for(what, ready, limit=WAIT_SECONDS):
    """Asks until the answer is true, and gives it. Each question costs an emulated processor some processes, so what
    takes long is asked for less often."""
    patience, pause = Patience(limit), 0.3
    while not (answer := ready()):
        if patience.is_over():
            raise Failed(f"not within {limit} s: {what}")
        time.sleep(pause)
        pause = min(pause * 1.2, 1.5)
    return answer


# --- machines ------------------------------------------------------------------------------------------


class Fabric:
    """Boots targets and the named hosts. sources: name → folder; every host gets them as /src/NAME.

    transports: guests have those beside TCP, and the program rdma. security: they have modules for authentication
    and TLS, and tlshd. crypt: they have dm-crypt, cryptsetup, dmsetup and what systemd opens mappings with.
    disks: of each target."""

    def __init__(self, kind, hosts, sources=None, transports=False, security=False, crypt=False, disks=(1,)):
        need_qemu()
        cache = pathlib.Path(os.environ["DATASETFS_BUILD"]) / "nvme-kernels"
        self.kernel = kernel.prepare(kind, cache)
        script = pathlib.Path(os.environ["DATASETFS_SOURCE"]) / "contrib/nvmet/nvmet-target"
        modules = [*self.kernel.modules, *(self.kernel.transports if transports else ()),
                   *(self.kernel.security if security else ()), *(self.kernel.crypt if crypt else ())]
        tools = [make_tool("reread"), *([need_tool("rdma", "iproute2")] if transports else []),
                 *([make_tool("key")] if security else []),
                 *([need_tool(*tool) for tool in CRYPT_TOOLS] if crypt else [])]
        initramfs.build("initramfs", modules, [script], tools)
        if security:
            with open("initramfs", "ab") as file:
                file.write(tlshd.prepare(cache).read_bytes())
        pack_sources(sources or {})
        self.guests = []
        self.links = [[socket.socketpair() for _ in hosts] for _ in disks]
        self.targets = [self.add(self.make_target(number, count)) for number, count in enumerate(disks)]
        self.target = self.targets[0]
        self.hosts = [self.add(Host(name, self.kernel, "initramfs", 11 + number, ["sources.tar"],
                                    [links[number][1] for links in self.links], cpus=2, memory=512 if crypt else 384))
                      for number, name in enumerate(hosts)]

    def make_target(self, number, count):
        suffix = f"-{number + 1}" if number else ""
        disks = [f"volume{suffix}{'.' + str(disk + 1) if disk else ''}.img" for disk in range(count)]
        for disk in disks:
            with open(disk, "wb") as file:
                file.truncate(VOLUME_BYTES)
        target = Target(f"target{suffix}", self.kernel, "initramfs", 1, disks,
                        [one for one, _ in self.links[number]], writable=True)
        target.nqn = NQN + suffix
        target.portals = tuple(f"{NETWORKS[number]}.{last}" for last in (1, 2))
        target.disk_count = count
        return target

    def uuid(self, nsid=1):
        """The UUID of a namespace, as the target says."""
        return self.target.uuid(nsid)

    def add(self, guest):
        self.guests.append(guest)
        return guest

    def __enter__(self):
        try:
            for guest in self.guests:
                guest.wait_ready()
                guest.configure()
        except BaseException:
            self.stop()
            raise
        say(f"{len(self.guests)} guests with Linux {self.kernel.release}")
        return self

    def __exit__(self, kind, error, _trace):
        try:
            if kind is not None and issubclass(kind, Exception):
                for guest in self.guests:
                    guest.keep_logs()
        finally:
            self.stop()

    def stop(self):
        for guest in self.guests:
            guest.stop()
        for links in self.links:
            for one, other in links:
                one.close()
                other.close()


def need_tool(name, package):
    path = shutil.which(name)
    if path is None:
        raise kernel.Missing(f"no {name}: package {package}")
    return path


def make_tool(name):
    """A program of tests/lib for the guests."""
    source = pathlib.Path(os.environ["DATASETFS_SOURCE"]) / f"tests/lib/{name}.c"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-O1", "-Wall", "-Werror", "-o", name, source], check=True)
    return pathlib.Path(name)


class Machine(Guest):
    """A guest that leaves its logs behind when a scenario fails."""

    def keep_logs(self):
        try:
            text = self.run("dmesg | tail -n 60; echo '--- messages'; tail -n 60 /run/messages", status=None, limit=10)
        except (Failed, TimeoutError, OSError, ValueError) as error:
            text = f"no logs: {error}\n"
        pathlib.Path(f"{self.name}-guest.log").write_text(text)

    def messages(self):
        return self.run("cat /run/messages")


class Target(Machine):
    """The storage target: nvmet through contrib/nvmet/nvmet-target, on the disk that holds the volume."""

    def configure(self):
        self.run("ip link add br0 type bridge\n"
                 "for card in /sys/class/net/eth*; do ip link set ${card##*/} master br0; "
                 "ip link set ${card##*/} up; done\n"
                 + "".join(f"ip addr add {address}/24 dev br0\n" for address in self.portals)
                 + "ip link set br0 up")

    def nvmet(self, words, status=0):
        return self.run(f"nvmet-target {words}", status)

    def offer(self, hosts):
        """Every disk is a namespace, by the first portal, for these hosts; those that wait for it go on."""
        self.nvmet(f"up {self.nqn} /dev/vda")
        for nsid in range(2, self.disk_count + 1):
            self.nvmet(f"attach {self.nqn} {nsid} /dev/vd{'abcd'[nsid - 1]}")
        self.nvmet(f"allow {self.nqn} " + " ".join(host.nqn for host in hosts))
        self.nvmet(f"port-up {self.nqn} {self.portals[0]}")

    def uuid(self, nsid=1):
        return self.run(f"cat /sys/kernel/config/nvmet/subsystems/{self.nqn}/namespaces/{nsid}/device_uuid").strip()

    def forget(self, nqn=NQN):
        """The subsystem is gone, and the first disk is no volume."""
        self.nvmet(f"down {nqn}")
        self.run("dd if=/dev/zero of=/dev/vda bs=1M count=1 conv=fsync 2>/dev/null")

    def takes_no_reservations(self):
        """As with kernels before 6.13, which offer none."""
        self.run(f"cd /sys/kernel/config/nvmet/subsystems/{NQN}/namespaces/1; [ ! -e resv_enable ] || "
                 "{ echo 0 >enable && echo 0 >resv_enable && echo 1 >enable; }")


class Host(Machine):
    """A machine that uses the volume: connects to the target, publishes, mounts, reads."""

    def configure(self):
        self.run("".join(f"ip addr add {network}.{self.address}/24 dev eth{number}\nip link set eth{number} up\n"
                         for number, network in enumerate(NETWORKS[:self.link_count]))
                 + "mkdir -p /src && tar -xf /dev/vda -C /src\n")
        self.take_name()

    def take_name(self):
        self.run(f"mkdir -p /etc/nvme\necho {self.nqn} >/etc/nvme/hostnqn\necho {self.hostid} >/etc/nvme/hostid")

    @property
    def nqn(self):
        return f"nqn.2026-01.org.example:host-{self.name}"

    @property
    def hostid(self):
        return f"00000000-0000-4000-8000-0000000000{self.address:02x}"

    def connect(self, *portals, options="", status=0, nqn=NQN):
        """The paths to the target's subsystem that are missing; without portals by the first one.
        Gives what was printed."""
        words = " ".join(f"tcp://{portal}" for portal in portals or PORTALS[:1])
        return self.run(f"datasetfsctl nvme connect --reconnect-delay 1 {options} {nqn} {words}", status)

    def disconnect(self):
        self.run(f"datasetfsctl nvme disconnect {NQN}")

    def paths(self):
        """Controller → (address, state), as sysfs has them."""
        found = (line.split() for line in self.run(CONTROLLERS).splitlines())
        return {name: (re.match("traddr=([^,]*)", address)[1], state) for name, address, state in found}

    def device_now(self, uuid):
        """The block device of the namespace with this UUID, or nothing."""
        return next((f"/dev/{name}" for name, found in map(str.split, self.run(NAMESPACES).splitlines())
                     if found == uuid), "")

    def device(self, uuid):
        return wait_for(f"{self.name}: a device with uuid {uuid}", lambda: self.device_now(uuid))

    def mount(self, device, options=""):
        self.run(f"datasetfs {options} {device} /mnt")

    def stats(self):
        return json.loads(self.run("cat /mnt/.datasetfs/stats.json"))

    def versions(self, volume):
        return json.loads(self.run(f"datasetfsctl list --json {volume}"))["versions"]

    def sums(self, folder="/mnt"):
        """Every file below a folder with its SHA-256, read by the guest."""
        listed = self.run(f"cd {folder} && find . -type f -print0 | sort -z | xargs -0 sha256sum", limit=240)
        return {path[2:]: value for value, path in (line.split("  ", 1) for line in listed.splitlines())}


class Readers:
    """Processes of a host that read the files of a mount for ever, each time from the device, and compare them with
    the source in /src: tests/lib/reread.c. They pause between files: two that never do take a processor from the other
    guests while a test waits."""

    def __init__(self, host, source, count=2, folder="/mnt"):
        self.host = host
        host.run("rm -f /run/enough /run/reads.*")
        self.jobs = [host.start(f"exec reread {folder} /src/{source.name} /run/reads.{number}")
                     for number in range(count)]
        self.go_on()

    def done(self):
        return sum(map(int, self.host.run(COUNTS).split()))

    def go_on(self, more=20):
        """Waits until that many more files were read."""
        before = self.done()
        wait_for(f"{self.host.name}: {more} files read", lambda: self.done() >= before + more)

    def stand_still(self, seconds=2):
        """Waits until none of them has come on for some seconds."""
        def still():
            before = self.done()
            time.sleep(seconds)
            return self.done() == before
        wait_for(f"{self.host.name}: readers that wait", still)

    def faults(self):
        return [line for job in self.jobs for line in job.output().splitlines()]

    def stop(self):
        """Ends them; what they found wrong."""
        self.host.run("touch /run/enough")
        check("status of the readers", [job.wait()[0] for job in self.jobs], [0] * len(self.jobs))
        return self.faults()


# --- trees ---------------------------------------------------------------------------------------------


def make_tree(folder, seed, like=None, count=90):
    """A folder of files from empty to some hundred KB; like: a folder of which most files are taken over."""
    chance = random.Random(seed)
    folder = pathlib.Path(folder)
    for number in range(count):
        path = folder / f"class{number % 7}" / f"{number:04}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        if like is not None and number % 3:
            shutil.copy2(pathlib.Path(like) / path.relative_to(folder), path)
        else:
            path.write_bytes(chance.randbytes(chance.choice((0, 1, 700, 4096, 30000, 110000, 131072, 400000))))
    return folder


def sums(folder):
    """What Host.sums() must give for this folder."""
    folder = pathlib.Path(folder)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*")) if path.is_file()}


def pack_sources(sources):
    """Writes the hosts' disk: a tar file."""
    with tarfile.open("sources.tar", "w") as archive:
        for name, folder in sources.items():
            archive.add(folder, name)
    # A disk has whole sectors.
    with open("sources.tar", "r+b") as file:
        file.truncate(-(-os.path.getsize("sources.tar") // 4096) * 4096)


# --- a test --------------------------------------------------------------------------------------------


def say(text):
    print(f"{time.monotonic() - BEGUN:6.1f} s  {text}", flush=True)


def main(scenarios):
    """Runs a test to its end: what the machine lacks is a skip, what is not as expected a failure of one line."""
    try:
        scenarios()
    except kernel.Missing as missing:
        print(f"skip: {missing}")
        sys.exit(77)
    except (Failed, TimeoutError) as error:
        sys.exit(f"fail: {error}")


BEGUN = time.monotonic()
