# SPDX-License-Identifier: MIT
"""One guest: a QEMU process without acceleration, its console in a file, and a port over which it takes commands."""
import base64
import os
import select
import shutil
import socket
import subprocess
import sys
import time

from kernel import Missing

sys.path.insert(0, os.path.join(os.environ["DATASETFS_SOURCE"], "tests", "lib"))
from patience import Patience

# By Debian's names of architectures: the program, its package, the machine, and words for the kernel.
# Three things go wrong in guests of a busy machine: with a thread for each processor, code that one patches is executed
# half-patched by another; the check of the timer fails; the TSC is calibrated so badly that clocks run twice as fast.
# Without erms the kernel copies and clears memory by words, as each step of a "rep movsb" is emulated for itself.
MACHINES = {
    "amd64": ("qemu-system-x86_64", "qemu-system-x86", ["-machine", "q35", "-cpu", "max,erms=off"],
              ["console=ttyS0", "mitigations=off", "no_timer_check", "tsc=unstable"]),
    "arm64": ("qemu-system-aarch64", "qemu-system-arm", ["-machine", "virt", "-cpu", "neoverse-n1"],
              ["console=ttyAMA0"]),
}
# Long, as the processors are emulated and the machine may be busy; nothing is asserted by them.
BOOT_SECONDS = 200
COMMAND_SECONDS = 120
# Less of what takes an emulated processor long and is no part of any test: the kernel tries its ciphers, and clears
# memory that is written to anyway.
LESS_WORK = ("cryptomgr.notests", "init_on_alloc=0")


def need_qemu(architecture="amd64"):
    for program, package in (MACHINES[architecture][:2], ("setpriv", "util-linux")):
        if not shutil.which(program):
            raise Missing(f"no {program}: package {package}")


class Failed(Exception):
    """A command in a guest failed or did not end, or the guest is gone; its text says which, and what was printed."""


class Guest:
    """A guest by its name. disks: files that it sees as /dev/vda, /dev/vdb, …;
    links: ends of its network cards, sockets.

    address: the last number of its address, and of its cards'."""

    def __init__(self, name, kernel, initramfs, address, disks=(), links=(), writable=False, cpus=1, memory=384):
        self.name, self.address = name, address
        self.number = 0
        self.link_count = len(links)
        self.received = b""
        self.ours, theirs = socket.socketpair()
        self.console = f"{name}-console.log"
        words = [*machine(kernel, initramfs, name, cpus, memory), "-serial", f"file:{self.console}"]
        words += port(theirs)
        for disk in disks:
            words += ["-drive", f"file={disk},format=raw,if=virtio,cache=unsafe,readonly={'off' if writable else 'on'}"]
        for number, link in enumerate(links):
            words += card(f"net{number}", link, f"52:54:00:00:{address:02x}:{number:02x}")
        with open(f"{name}-qemu.log", "wb") as log:
            # setpriv: no guest outlives its test, whatever ends that.
            self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *words], stdin=subprocess.PIPE,
                                            stdout=log, stderr=log,
                                            pass_fds=[end.fileno() for end in (theirs, *links)])
        theirs.close()
        self.seconds = None

    def wait_ready(self, limit=BOOT_SECONDS):
        """Waits until the guest takes commands."""
        words = self.line(Patience(limit)).split()
        if words[:1] != ["ready"]:
            raise Failed(f"{self.name}: said {' '.join(words)!r}, expected 'ready'")
        self.seconds = float(words[1])

    def run(self, command, status=0, limit=COMMAND_SECONDS):
        """Runs shell commands in the guest; gives what they print on both outputs. status None: any."""
        self.number += 1
        self.ours.sendall(b"%d %s\n" % (self.number, one_line(command).encode()))
        try:
            found, output = self.answer(Patience(limit))
        except TimeoutError:
            raise Failed(f"{self.name}: no end within {limit} s: {command}") from None
        if status is not None and found != status:
            raise Failed(f"{self.name}: status {found}, expected {status}: {command}\n{output}")
        return output

    def start(self, command):
        """Runs shell commands in the guest in the background."""
        return Job(self, command)

    def monitor(self, command):
        """A command for QEMU itself, such as system_reset."""
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()

    def reset(self):
        """The guest loses its power and boots again."""
        self.received = b""
        self.monitor("system_reset")
        self.wait_ready()

    def power_off(self):
        """The guest loses its power: it forgets all but its disks, and answers nobody."""
        self.monitor("stop")
        self.monitor("system_reset")

    def power_on(self):
        """It boots again."""
        self.received = b""
        self.monitor("cont")
        self.wait_ready()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.ours.close()

    def answer(self, patience):
        """Status and output of the last command; late answers to commands that were given up are passed over."""
        while True:
            number, status = map(int, self.line(patience).split())
            output = self.line(patience)
            if number == self.number:
                return status, base64.b64decode(output).decode(errors="replace")

    def line(self, patience):
        while b"\n" not in self.received:
            self.receive(patience)
        line, self.received = self.received.split(b"\n", 1)
        return line.decode()

    def receive(self, patience):
        while not select.select([self.ours], [], [], 1)[0]:
            if patience.is_over():
                raise TimeoutError(f"{self.name}: no word from the guest")
        data = self.ours.recv(65536)
        if not data:
            raise Failed(f"{self.name}: QEMU has ended, see {self.name}-qemu.log")
        self.received += data


def one_line(command):
    """Shell commands as a word for printf's %b."""
    return command.replace("\\", "\\\\").replace("\n", "\\n")


class Job:
    """Commands that run in a guest in the background."""
    count = 0

    def __init__(self, guest, command):
        Job.count += 1
        self.guest, self.place = guest, f"/run/job{Job.count}"
        script = base64.b64encode(command.encode()).decode()
        guest.run(f"echo {script} | base64 -d >{self.place}.sh\n"
                  f"(sh {self.place}.sh >{self.place}.out 2>&1; echo $? >{self.place}.rc) </dev/null >/dev/null 2>&1 &")

    def ended(self):
        return self.guest.run(f"[ ! -s {self.place}.rc ] || echo yes") != ""

    def output(self):
        return self.guest.run(f"cat {self.place}.out")

    def wait(self, limit=COMMAND_SECONDS):
        """Status and output, once it has ended."""
        patience, pause = Patience(limit), 0.3
        while not self.ended():
            if patience.is_over():
                raise Failed(f"{self.guest.name}: no end of a background command within {limit} s\n{self.output()}")
            time.sleep(pause)
            pause = min(pause * 1.2, 1.5)
        return int(self.guest.run(f"cat {self.place}.rc")), self.output()


def machine(kernel, initramfs, name, cpus, memory):
    program, _, kind, words = MACHINES[kernel.architecture]
    words = [*words, *LESS_WORK, "quiet", "loglevel=5", "random.trust_cpu=on", f"guest={name}"]
    return [program, *kind, "-accel", "tcg,thread=single", "-smp", str(cpus), "-m", str(memory),
            "-no-user-config", "-nodefaults", "-display", "none", "-monitor", "stdio",
            "-kernel", str(kernel.image), "-initrd", str(initramfs), "-append", " ".join(words)]


def port(end):
    return ["-device", "virtio-serial-pci", "-chardev", f"socket,id=commands,fd={end.fileno()}",
            "-device", "virtserialport,chardev=commands,name=commands"]


def card(name, end, mac):
    return ["-netdev", f"stream,id={name},server=off,addr.type=fd,addr.str={end.fileno()}",
            "-device", f"virtio-net-pci,netdev={name},mac={mac}"]
