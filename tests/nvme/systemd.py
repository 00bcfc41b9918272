#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once queue=fabric in=none timeout=1800
"""A guest whose first process is systemd, with the build as it is installed: the unit datasetfs@ and a line of fstab.
Their servers are killed, stopped, short of memory and replaced, under readers who see no error; and what happens when
the supervisor dies is what datasetfs(8) says, DURABILITY."""
import json
import os
import pathlib

import kernel
import root
from fabric import check, check_contains, main, say, wait_for
from guest import BOOT_SECONDS, Failed, need_qemu
from readers import Alone, Readers, make_volume

UNIT, MOUNT, EXPORTER = "datasetfs@train.service", "mnt-fstab.mount", "datasetfs-exporter.service"
FSTAB = """/dev/vda /mnt/fstab datasetfs ro,nofail,x-systemd.requires=/dev/vda 0 0
/dev/vda /mnt/later datasetfs ro,noauto 0 0
"""
# Longer than the supervisor waits for a silent server, and shorter than that of the unit, so that the test ends.
DROP_IN = "[Service]\nWatchdogSec=90s\n"
# Emulated processors of a busy machine are slow: what they do takes longer than systemd waits for a device or a unit.
SLOW = "[Manager]\nDefaultTimeoutStartSec=900s\nDefaultTimeoutStopSec=900s\nDefaultDeviceTimeoutSec=900s\n"
REFUSED = "the new program has ended with status 1 before it was ready"
PROCESSES = "pgrep datasetfs || true"


class Worker(Alone):
    """It has the unit, and the lines of fstab."""

    def __init__(self, kind, build):
        self.kernel = kernel.prepare(kind, build / "nvme-kernels")
        root.build("initramfs", build / "nvme-kernels", self.kernel.modules,
                   [build / "tests/readers", build / "tests/next-program"],
                   {"etc/fstab": FSTAB, "etc/systemd/system.conf.d/slow.conf": SLOW,
                    f"etc/systemd/system/{UNIT}.d/watchdog.conf": DROP_IN,
                    "etc/datasetfs/train.conf": "VOLUME=/dev/vda\nMOUNTPOINT=/mnt/train\n", "usr/bin/does": "exits"})
        super().__init__(kind, self.kernel, memory=1024)

    def messages(self):
        return self.run("journalctl --no-pager --output cat")

    def show(self, unit, *properties):
        """What systemd says of a unit, and of processes that it has none of."""
        shown = self.run(f"systemctl show --property {','.join(properties)} {unit}")
        values = dict(line.split("=", 1) for line in shown.splitlines())
        return [values[name] for name in properties]

    def stats(self, mountpoint):
        return json.loads(self.run(f"cat {mountpoint}/.datasetfs/stats.json"))

    def install(self, program):
        """As a package manager does."""
        self.run(f"cp {program} /usr/bin/new && mv /usr/bin/new /usr/bin/datasetfs")

    def group(self, unit):
        return "/sys/fs/cgroup" + self.show(unit, "ControlGroup")[0]

    def is_mounted(self, mountpoint):
        return self.run(f"findmnt --types fuse.datasetfs --mountpoint {mountpoint}", None) != ""


class Mount:
    """A mount that is a unit of systemd."""

    def __init__(self, worker, unit, mountpoint, state, upgrade):
        self.worker, self.unit, self.mountpoint, self.upgrade_command = worker, unit, mountpoint, upgrade
        self.state = ["active", state, "success"]
        self.supervisor = self.stats()["pid"]
        self.idle = int(worker.run(f"cat {worker.group(unit)}/memory.current"))

    def stats(self):
        return self.worker.stats(self.mountpoint)

    def check(self):
        """The unit goes on as it was, with the same supervisor."""
        check(f"state of {self.unit}", self.worker.show(self.unit, "ActiveState", "SubState", "Result"), self.state)
        check("supervisor", self.stats()["pid"], self.supervisor)

    def killed(self, readers):
        readers.replace(self.stats, lambda stats: self.worker.run(f"kill -KILL {stats['server_pid']}"))
        self.check()
        say(f"{self.unit}: a server that was killed")

    def silent(self, readers):
        """A server that is stopped is replaced, before systemd misses it."""
        readers.replace(self.stats, lambda stats: self.worker.run(f"kill -STOP {stats['server_pid']}"))
        self.check()
        check_contains("log", self.worker.messages(), "the server does not respond, it is killed")
        say(f"{self.unit}: a server that was stopped")

    def short_of_memory(self, readers):
        """A limit lets servers begin, but not read, so that the kernel kills one after the other until it goes."""
        events = f"{self.worker.group(self.unit)}/memory.events"
        deaths = f"sed -n 's/^oom_kill //p' {events}"

        def limit(_stats):
            self.worker.run(f"systemctl set-property --runtime {self.unit} MemoryMax={self.idle + (1 << 20)}")
            wait_for("servers that are killed", lambda: int(self.worker.run(deaths)) > 1)
            self.worker.run(f"systemctl set-property --runtime {self.unit} MemoryMax=infinity")

        readers.replace(self.stats, limit)
        self.check()
        check_contains("systemd", self.worker.messages(),
                       f"{self.unit}: A process of this unit has been killed by the OOM killer.")
        say(f"{self.unit}: {self.worker.run(deaths).strip()} servers killed for memory")

    def upgraded(self, readers):
        self.worker.install("/usr/bin/datasetfs")
        status = self.worker.run(f"datasetfsctl status {self.mountpoint}")
        check_contains("status", status, "an older one than is installed")
        readers.replace(self.stats, lambda _: self.worker.run(self.upgrade_command))
        check("an old program", self.stats()["program_is_old"], False)
        self.check()
        say(f"{self.unit}: upgraded")

    def upgrade_refused(self, readers):
        server = self.stats()["server_pid"]
        self.worker.run("cp /usr/bin/datasetfs /usr/bin/good")
        self.worker.install("/usr/bin/next-program")
        self.worker.run(self.upgrade_command, 1)
        check_contains("log", self.worker.messages(), REFUSED)
        readers.go_on()
        check("server", self.stats()["server_pid"], server)
        self.check()
        self.worker.install("/usr/bin/good")
        say(f"{self.unit}: an upgrade that was refused")


# --- the unit ------------------------------------------------------------------------------------------


def begin(worker):
    """READY comes when the mount is there, and the supervisor is the unit's main process."""
    worker.run(f"systemctl start {UNIT}")
    check("mounted", worker.is_mounted("/mnt/train"), True)
    mount = Mount(worker, UNIT, "/mnt/train", "running", f"systemctl reload {UNIT}")
    check("main process", int(worker.show(UNIT, "MainPID")[0]), mount.supervisor)
    parent = worker.run(f"ps -o ppid= {mount.stats()['server_pid']}")
    check("the server's parent", int(parent), mount.supervisor)
    return mount


def servers(mount, *steps):
    """What happens to servers, and to the readers nothing."""
    readers = Readers(mount.worker, "random", mount.mountpoint)
    for step in steps:
        step(readers)
    readers.stop(f"{mount.unit}: {mount.stats()['restarts']} servers were replaced")
    check("main process", mount.worker.show(UNIT, "NRestarts"), ["0"])


def supervisor_ends(worker, signal, sign):
    """systemd ends what is left of the mount, which stays nowhere, and mounts anew."""
    restarts, process = map(int, worker.show(UNIT, "NRestarts", "MainPID"))
    left = set(worker.run(f"cat {worker.group(UNIT)}/cgroup.procs").split())
    worker.run(f"kill -{signal} {process}")
    wait_for("another mount", lambda: worker.show(UNIT, "NRestarts", "ActiveState") == [str(restarts + 1), "active"])
    check("mounts", worker.run("findmnt --noheadings --mountpoint /mnt/train | wc -l").strip(), "1")
    check("servers before", worker.stats("/mnt/train")["restarts"], 0)
    check("old processes", left & set(worker.run(PROCESSES).split()), set())
    check_contains("log", worker.messages(), sign)
    say(f"{UNIT}: SIG{signal} for the supervisor, mounted anew")


def end(worker):
    """It goes away wholly; a restart mounts anew, and a file that is open can still be read after that."""
    process = worker.show(UNIT, "MainPID")
    held = worker.start("exec 7</mnt/train/class0/0000.bin; touch /run/held\n"
                        "until [ -e /run/read ]; do sleep 0.2; done; cmp - /src/v2/class0/0000.bin <&7")
    wait_for("an open file", lambda: worker.run("ls /run/held 2>/dev/null || true"))
    again = worker.start(f"systemctl restart {UNIT}")
    wait_for("the end of the mount", lambda: not worker.is_mounted("/mnt/train"))
    worker.run("touch /run/read")
    check("an open file after the stop", held.wait(), (0, ""))
    check("status of the restart", again.wait()[0], 0)
    check("another process", worker.show(UNIT, "MainPID") != process, True)
    worker.run(f"systemctl stop {UNIT}")
    check("state", worker.show(UNIT, "ActiveState", "Result"), ["inactive", "success"])
    check("mounted", worker.is_mounted("/mnt/train"), False)
    check("processes", worker.run(PROCESSES), "")
    say(f"{UNIT}: restarted and stopped")


def unit(worker):
    mount = begin(worker)
    servers(mount, mount.killed, mount.short_of_memory, mount.silent, mount.upgraded, mount.upgrade_refused,
            mount.killed)
    supervisor_ends(worker, "KILL", f"{UNIT}: Main process exited, code=killed, status=9/KILL")
    supervisor_ends(worker, "STOP", f"{UNIT}: Watchdog timeout (limit 1min 30s)!")
    end(worker)


# --- fstab ---------------------------------------------------------------------------------------------


def mounted_at_boot(worker):
    """What systemd has made of a line of fstab."""
    def is_mounted():
        state, = worker.show(MOUNT, "ActiveState")
        check("failed", state == "failed", False)
        return state == "active"
    wait_for("the mount of fstab", is_mounted, BOOT_SECONDS)
    mount = Mount(worker, MOUNT, "/mnt/fstab", "mounted", "datasetfsctl upgrade /mnt/fstab")
    servers(mount, mount.killed, mount.short_of_memory, mount.silent, mount.upgraded, mount.killed)
    worker.run("umount /mnt/fstab")
    wait_for("the end of the unit", lambda: worker.show(MOUNT, "ActiveState", "Result") == ["inactive", "success"])
    check("processes", worker.run(PROCESSES), "")
    say(f"{MOUNT}: unmounted")


def mounted_in_session(worker):
    """A session in which somebody mounts outlives servers, and the mount outlives the session."""
    worker.run("systemd-run --unit login --property User=root --property PAMName=su-l sh -c "
               "'mkdir /mnt/later && mount -a && mount /mnt/later && touch /run/mounted; exec sleep infinity'")
    wait_for("mounts", lambda: worker.run("ls /run/mounted 2>/dev/null || true"))
    session = worker.run("loginctl --no-legend list-sessions").split()[0]
    state = f"loginctl show-session --property State {session}"
    for mountpoint in ("/mnt/fstab", "/mnt/later"):
        stats = worker.stats(mountpoint)
        check_contains("group", worker.run(f"cat /proc/{stats['pid']}/cgroup"), f"/session-{session}.scope")
        worker.run(f"kill -KILL {stats['server_pid']}")
        check("servers before", worker.stats(mountpoint)["restarts"], 1)
    check("a process of the session", worker.show("login.service", "ActiveState"), ["active"])
    check("the session", worker.run(state), "State=active\n")
    worker.run("systemctl stop login.service")
    wait_for("the end of the session", lambda: worker.run(state) == "State=closing\n")
    for mountpoint in ("/mnt/fstab", "/mnt/later"):
        check("servers before", worker.stats(mountpoint)["restarts"], 1)
    say(f"mounted in session {session}, which has ended")


def exporter(worker):
    """Its unit is in the group of shared mounts, which systemd makes when it boots, and starts without that group."""
    def start():
        worker.run(f"systemctl restart {EXPORTER}")
        check("exporter", worker.show(EXPORTER, "ActiveState"), ["active"])
        process, = worker.show(EXPORTER, "MainPID")
        return worker.run(f"sed -n 's/^Gid:.//p' /proc/{process}/status").split()[0]
    number = worker.run("sed -n 's/^datasetfs:[^:]*:\\([0-9]*\\):.*/\\1/p' /etc/group").strip()
    check("group of the exporter", start(), number)
    check("group of the folder", worker.run("stat -c '%g %a' /run/datasetfs/attach").strip(), f"{number} 710")
    worker.run("sed -i '/^datasetfs:/d' /etc/group")
    start()
    check_contains("metrics", worker.run("busybox wget -q -O - http://127.0.0.1:9570/metrics"),
                   "datasetfs_exporter_scrapes_total")
    worker.run(f"systemctl stop {EXPORTER}")
    say(f"{EXPORTER}: in the group datasetfs, and without it")


def switched_off(worker):
    """Nothing keeps the machine from going down."""
    worker.run(f"systemctl start {UNIT}")
    worker.run("systemd-run --on-active=1 systemctl poweroff")
    wait_for("the machine is off", lambda: worker.process.poll() is not None)
    for line in pathlib.Path(worker.console).read_text(errors="replace").splitlines():
        if "Failed unmounting" in line or "timed out" in line:
            raise Failed(f"at the end: {line}")
    say("switched off")


def scenarios():
    need_qemu()
    build = pathlib.Path(os.environ["DATASETFS_BUILD"])
    make_volume()
    with Worker("newest", build) as worker:
        say(f"Linux {worker.kernel.release}, {worker.run('systemctl --version').splitlines()[0]}")
        worker.run("dmesg --console-off")  # what it says of each process that is killed for memory
        mounted_at_boot(worker)
        unit(worker)
        mounted_in_session(worker)
        exporter(worker)
        switched_off(worker)


main(scenarios)
