# SPDX-License-Identifier: MIT
"""Files of the data set at $MNT that are handed from process to process: processes.py [SECTION…].
Prints a line a call."""
import ctypes
import fcntl
import hashlib
import multiprocessing
import multiprocessing.reduction
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from shown import run_sections, section, short, show  # noqa: E402

MNT = os.environ["MNT"]
SMALL = f"{MNT}/text/0/000.txt"
TEXT = f"{MNT}/text/big.txt"
LARGE = f"{MNT}/sizes/3M"
PATHS = [SMALL, TEXT, LARGE, f"{MNT}/sizes/0", f"{MNT}/sizes/65537"]
MANY = [f"{MNT}/many/{number:04}" for number in range(300)]


def in_child(name, call):
    """What the call gives in a forked child, by way of a pipe"""
    inside, outside = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(outside, 1)
        show(name, call)
        sys.stdout.flush()
        os._exit(7)
    os.close(outside)
    with open(inside, errors="surrogateescape") as said:
        print("child", said.read(), end="")
    print("status", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def place(fd):
    return os.lseek(fd, 0, os.SEEK_CUR)


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha1(file.read()).hexdigest()


@section
def forks():
    sys.stdout.flush()
    for path in PATHS:
        name = os.path.basename(path)
        for first in 0, 10:
            fd = os.open(path, os.O_RDONLY)
            os.read(fd, first)
            in_child(f"{name} read", lambda: (os.read(fd, 10), place(fd), os.fstat(fd)))
            show("goes on", lambda: (place(fd), os.read(fd, 10)))
            in_child("seek", lambda: os.lseek(fd, 100, os.SEEK_SET))
            show("moved", lambda: (place(fd), os.read(fd, 10)))
            in_child("pread", lambda: (os.pread(fd, 10, 5), place(fd)))
            in_child("closed", lambda: (os.close(fd), os.read(fd, 1)))
            in_child("another", lambda: (os.dup2(os.open("/dev/zero", os.O_RDONLY), fd), os.read(fd, 3)))
            in_child("a child of a child", lambda: in_child("below", lambda: (os.read(fd, 10), place(fd))))
            show("in the end", lambda: (place(fd), os.read(fd, 10)))
            os.close(fd)
    with open(SMALL, "rb") as file:
        file.read(10)
        in_child("object", file.read)
        show("object", file.read)
    with open(SMALL, encoding="utf-8") as file:
        file.readline()
        in_child("lines", file.readlines)
        show("lines", file.readlines)
    in_child("opens", lambda: [digest(path) for path in PATHS])
    fd = os.open(SMALL, os.O_RDONLY)
    copy = os.dup(fd)
    in_child("duplicate", lambda: os.read(copy, 10))
    show("shared", lambda: (place(fd), place(copy)))
    os.close(fd)
    os.close(copy)


@section
def programs():
    for path in PATHS[:4]:
        name = os.path.basename(path)
        for first in 0, 10:
            for words in {}, {"close_fds": False}, {"preexec_fn": lambda: None}, {"start_new_session": True}, \
                    {"cwd": MNT}, {"env": {}}, {"restore_signals": False}:
                with open(path, "rb", 0) as file:
                    file.read(first)
                    show(f"{name} stdin {first} {sorted(words)}",
                         lambda: subprocess.run(["/bin/cat"], stdin=file, stdout=subprocess.PIPE, **words).stdout)
                    show("parent", lambda: (file.tell(), file.read(10), os.fstat(file.fileno())))
            with open(path, "rb") as file:
                file.read(first)
                show("buffered", lambda: subprocess.check_output(["/usr/bin/head", "-c", "20"], stdin=file))
                show("parent", lambda: (file.tell(), file.read(10)))
        with open(path, "rb", 0) as file:
            fd = file.fileno()
            show("pass_fds", lambda: subprocess.check_output(["/bin/sh", "-c", f"head -c 5 <&{fd}"], pass_fds=[fd]))
            show("not passed", lambda: subprocess.run(["/bin/sh", "-c", f": <&{fd}"], capture_output=True).returncode)
            show("parent", lambda: (place(fd), file.read(10)))
            os.set_inheritable(fd, True)
            show("inherited", lambda: subprocess.check_output(f"cat <&{fd} | wc -c", shell=True, close_fds=False))
            show("closed on exec", lambda: subprocess.run(f": <&{fd}", shell=True, capture_output=True).returncode)
            show("as another", lambda: subprocess.check_output(f"cat <&{fd}", shell=True, close_fds=False))
            os.lseek(fd, 3, os.SEEK_SET)
            show("system", lambda: os.system(f"head -c 20 <&{fd} >out"))
            with os.popen(f"head -c 20 <&{fd} | od -c; cksum out") as said:
                show("popen", said.read)
            show("as output", lambda: subprocess.run(["/bin/echo"], stdout=file, stderr=subprocess.PIPE).returncode)
    show("program", lambda: subprocess.check_output([f"{MNT}/modes/script", "one"], input=b"to it"))
    show("program by sh", lambda: subprocess.check_output(["sh", f"{MNT}/modes/script", "one"], stdin=open(SMALL)))
    show("python", lambda: subprocess.check_output([sys.executable, f"{MNT}/modules/script.py", "a"]))
    show("module", lambda: subprocess.check_output([sys.executable, "-Bc", "import package"], cwd=f"{MNT}/modules"))
    show("python stdin", lambda: subprocess.check_output([sys.executable, "-", "a"],
        stdin=open(f"{MNT}/modules/package/part.py")))
    show("no program", lambda: subprocess.run([SMALL]))
    for _ in range(20):
        files = [open(path, "rb", 0) for path in MANY[:20]]
        subprocess.run(["/bin/true"], close_fds=False)
        result = [file.read() for file in files]
    show("many open", lambda: result)


def read_inherited(file, queue):
    queue.put((file.read(10), digest(SMALL)))


def receive(connection):
    fd = multiprocessing.reduction.recv_handle(connection)
    connection.send((os.read(fd, 10), os.fstat(fd), place(fd)))
    connection.close()


@section
def workers():
    for method in "fork", "spawn", "forkserver":
        context = multiprocessing.get_context(method)
        with open(SMALL, "rb", 0) as file:
            file.read(7)
            with context.Pool(2) as pool:
                show(f"{method} pool", lambda: pool.map(digest, PATHS + MANY[:60]))
            if method == "fork":
                queue = context.SimpleQueue()
                worker = context.Process(target=read_inherited, args=(file, queue))
                worker.start()
                show("inherited", lambda: (queue.get(), worker.join(), file.tell()))
            here, there = context.Pipe()
            worker = context.Process(target=receive, args=(there,))
            worker.start()
            multiprocessing.reduction.send_handle(here, file.fileno(), worker.pid)
            show("handle", here.recv)
            worker.join()
            show("offset", lambda: (file.tell(), file.read(10)))
            here.close()
            there.close()
    with ProcessPoolExecutor(2) as pool:
        show("executor", lambda: list(pool.map(digest, MANY, chunksize=30)))


@section
def threads_that_fork():
    """Threads open and read all the time while others fork and start programs"""
    stop = threading.Event()
    wrong = []
    expected = {path: digest(path) for path in MANY[:100]}

    def read():
        while not stop.is_set():
            wrong.extend(path for path, sum in expected.items() if digest(path) != sum)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(15):
        in_child("beside readers", lambda: digest(PATHS[number % 5]))
        show("program", lambda: subprocess.check_output(["/usr/bin/sha1sum"], stdin=open(PATHS[number % 5])))
        with ThreadPoolExecutor(4) as pool:
            show("programs", lambda: list(pool.map(lambda path: subprocess.check_output(["cat"], stdin=open(path)),
                MANY[:8])))
    stop.set()
    for reader in readers:
        reader.join()
    print("wrong:", wrong)


@section
def other_users():
    """Only root can become somebody else; what was read before must not be given to him"""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    names = [name for name in sorted(os.listdir(f"{MNT}/modes")) if name[0] in "0124"]

    def switched(change):
        opened = os.open(f"{MNT}/modes/0400", os.O_RDONLY)
        digest(f"{MNT}/modes/0600")
        change()
        for name in names:
            show(name, digest, f"{MNT}/modes/{name}")
        return os.read(opened, 20), os.access(f"{MNT}/modes/0400", os.R_OK), \
            show("folder", os.stat, f"{MNT}/modes/folder-0700/file")

    for name, change in {
            "seteuid": lambda: os.seteuid(65534), "setuid": lambda: os.setuid(65534),
            "setfsuid": lambda: libc.setfsuid(65534),
            "setresuid": lambda: os.setresuid(65534, 65534, 0), "setegid": lambda: (os.setegid(65534),
                os.seteuid(65534)),
            "syscall": lambda: libc.syscall(105, 65534),
            "and back": lambda: (os.seteuid(65534), os.seteuid(0))}.items():
        in_child(name, lambda: switched(change))


def left():
    """What this process has of the volume, the daemon and the index"""
    found = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{fd}"))
        except FileNotFoundError:
            pass  # the one of listdir()
    with open("/proc/self/maps") as maps:
        found += [line.split(maxsplit=5)[5] for line in maps if "/" in line]
    return sorted(path for path in found
                  if path.endswith("/volume") or path.startswith(("/memfd:datasetfs", "socket:")))


@section
def nothing_is_left():
    """Who becomes somebody else keeps no way to what he could read before, and leaves none to his children"""
    if os.geteuid() != 0:
        return
    digest(SMALL)
    stop = threading.Event()

    def read():
        while not stop.is_set():
            digest(SMALL)

    def dropped(prepare=lambda: None):
        prepare()
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        in_child("a child has", left)
        return left()

    def capset():
        header, none = struct.pack("=Ii", 0x20080522, 0), bytes(24) # _LINUX_CAPABILITY_VERSION_3
        libc.capset(header, none)

    libc = ctypes.CDLL(None)
    setuid = {"x86_64": 105, "aarch64": 146}[os.uname().machine]
    for change in (lambda: os.setresuid(1, 1, 1), lambda: os.setreuid(1, 1), lambda: os.seteuid(1),
                   lambda: os.setegid(1), lambda: libc.setfsuid(1), capset, lambda: libc.syscall(setuid, 1)):
        in_child("a way to do it", lambda change=change: (digest(SMALL), change(), left())[2])
    in_child("at once", dropped)
    in_child("after a read", lambda: dropped(lambda: digest(SMALL)))
    in_child("child's child", lambda: in_child("has", dropped))
    in_child("a lock", lambda: (fcntl.lockf(os.open(SMALL, os.O_RDONLY), fcntl.LOCK_SH), left()))
    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(20):
        in_child("beside readers", lambda: dropped(lambda: digest(MANY[0])))
    stop.set()
    for reader in readers:
        reader.join()

    def dropped_beside_threads():
        stop.clear()
        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        digest(SMALL)
        dropped()
        for _ in range(100000):  # until reads under way have ended
            if not left():
                break
            time.sleep(0.001)
        stop.set()
        for thread in threads:
            thread.join()
        return left()

    for _ in range(5):
        in_child("beside threads", dropped_beside_threads)


@section
def other_roots():
    if os.geteuid() != 0:
        return
    fd = os.open(SMALL, os.O_RDONLY)
    folder = os.open(f"{MNT}/links", os.O_RDONLY)

    def changed(root, *paths):
        os.chroot(root)
        for path in paths:
            show(path, lambda: hashlib.sha1(open(path, "rb").read()).hexdigest())
            show(path, os.stat, path)
        os.chdir("/")
        show("relative", lambda: open("plain").read())
        show("dir_fd", lambda: os.stat("soft", dir_fd=folder))
        show("dir_fd ..", lambda: os.stat("../text/0/000.txt", dir_fd=folder))
        return os.read(fd, 10)

    in_child("in the mount", lambda: changed(f"{MNT}/links", "/plain", "/soft", "/../plain", SMALL, "/out",
        "/to-deep"))
    in_child("around it", lambda: changed(os.path.dirname(MNT), "/mnt/text/0/000.txt", "/mnt/links/soft", SMALL,
                                          "/mnt/../mnt/links/out-near", "/outside/into"))
    os.mkdir("fake")
    os.makedirs("fake" + os.path.dirname(SMALL))
    with open("fake" + SMALL, "w") as file:
        file.write("not the data set")
    in_child("same path, another file", lambda: changed("fake", SMALL))
    os.close(fd)
    os.close(folder)


@section
def interrupted():
    """A handler that reads files interrupts a reader"""
    found = set()

    def handler(*_):
        found.add(digest(SMALL))

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    show("reads", lambda: [digest(path) for path in MANY])
    signal.setitimer(signal.ITIMER_REAL, 0)
    found.add(digest(SMALL))
    print(short(sorted(found)))


if __name__ == "__main__":
    os.umask(0o022)
    tempfile.tempdir = os.getcwd()
    sys.stdout.reconfigure(errors="surrogateescape")
    run_sections()
