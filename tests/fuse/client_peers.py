#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Peers that break the rules of the socket of a mount, and a daemon that does. The messages: src/client/client.h.

client_peers.py CASE MNT                 a peer: prints what it got
client_peers.py fake FAULT SOCKET REAL   a daemon at SOCKET that passes on what the one at REAL hands over, but for one
                                         fault; prints "listening" when it does"""
import array
import errno
import fcntl
import json
import mmap
import os
import socket
import struct
import sys
from uuid import UUID

MAGIC = 0x48534644
GREETING, OPEN, OPENED, REPORT = 1, 2, 3, 4
CACHE, HITS = 7, 9
SLOTS = 8 + 256 * 8  # bytes at the end of OPENED: how many slots the volume has, and what each of their members lacks
RECORD = 128  # where the version begins in its own record of a volume of one member: src/opened/version_record.c
MEMBERS = {"many-slots": (1 << 31, 1), "a-member-less": (2, 3), "no-member": (1, 0), "a-slot-more": (2, 1)}
ANSWER = 528  # bytes of an answer that refuses


def head(kind, size, magic=MAGIC, latest=2, earliest=2):
    return struct.pack("<IHHII", magic, latest, earliest, kind, size)


def message(kind, body, **fields):
    return head(kind, 16 + len(body), **fields) + body


def wish(mount, sequence=0, uuid=bytes(16)):
    device = os.stat(mount).st_dev
    return message(OPEN, struct.pack("<IIQ", os.major(device), os.minor(device), sequence) + uuid)


def connect(path):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.settimeout(20)
    peer.connect(path)
    return peer


def place(mount):
    with open(f"{mount}/.datasetfs/client", encoding="utf-8") as file:
        return json.load(file)["socket"]


def reason(answer):
    """The code of an answer and its reason."""
    code = struct.unpack_from("<i", answer, 16)[0]
    return code, answer[24:ANSWER].split(b"\0")[0].decode()


def greeted(mount):
    peer = connect(place(mount))
    greeting = peer.recv(4096)
    assert len(greeting) == ANSWER and greeting[:4] == struct.pack("<I", MAGIC), greeting
    assert reason(greeting) == (0, ""), reason(greeting)
    return peer


def is_dropped(peer):
    try:
        return peer.recv(4096) == b""
    except ConnectionResetError:
        return True


def answered(peer, request):
    """Sends it, and returns the answer and its descriptors."""
    peer.send(request)
    answer, fds, _, _ = socket.recv_fds(peer, 4096, 5)
    return answer, fds


# ---- peers ----

def nonsense(mount):
    """Each of these ends its connection and nothing else."""
    good = wish(mount)
    report = struct.pack("<5Q", 1, 2, 3, 4, 5)
    cases = {
        "one byte": b"D",
        "no magic": message(OPEN, good[16:], magic=1),
        "a short wish": message(OPEN, good[16:-1]),
        "a size that is not its own": head(OPEN, 4000) + good[16:],
        "a kind that there is not": message(77, good[16:]),
        "a greeting": message(GREETING, bytes(512)),
        "a newer protocol": message(OPEN, good[16:], latest=9, earliest=9),
        "a short report": message(REPORT, report[:-8]),
        "short hits": message(HITS, bytes(100)),
        "a report that counts too much": message(REPORT, struct.pack("<5Q", 1 << 63, 0, 0, 0, 0)),
        "a long packet": good + bytes(5000),
        "garbage": os.urandom(300),
    }
    for name, packet in cases.items():
        peer = greeted(mount)
        peer.send(packet)
        assert is_dropped(peer), name
    peer = greeted(mount)
    null = os.open("/dev/null", os.O_RDONLY)
    socket.send_fds(peer, [good], [null] * 200)
    assert is_dropped(peer), "descriptors"
    for length in range(1, 60):  # half messages, and half of a connection
        peer = greeted(mount)
        peer.send((good + os.urandom(60))[:length] if length < len(good) else os.urandom(length))
        peer.close()
    answer, fds = answered(greeted(mount), message(OPEN, good[16:] + bytes(100), latest=7))
    assert len(fds) == 4, "a longer wish of a later release that speaks our protocol"
    print(len(cases) + 1)
    return answer


def refused(mount):
    """What is asked for and not there is answered, and the connection goes on."""
    peer = greeted(mount)
    answer, fds = answered(peer, message(OPEN, struct.pack("<IIQ", 0, 1, 0) + bytes(16)))
    code, why = reason(answer)
    assert code < 0 and not fds and "belongs to the mount with device" in why, (code, why)
    answer, fds = answered(peer, wish(mount, 999, b"x" * 16))
    assert reason(answer)[0] == 0 and len(fds) == 2, "a version that is not open"
    answer, fds = answered(peer, wish(mount))
    assert reason(answer)[0] == 0 and len(fds) == 4, "after that"
    answer, fds = answered(peer, message(CACHE, b""))
    assert reason(answer)[0] == -errno.ENOENT and not fds, "a cache that the mount does not have"
    print("refused")


def descriptors(mount):
    """What comes can be read and not be changed, and is nobody else's."""
    peer = greeted(mount)
    _, (volume, state, index, record) = answered(peer, wish(mount))
    _, others = answered(peer, wish(mount))
    for fd in (volume, state, index, record):
        assert fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    flags = fcntl.fcntl(volume, fcntl.F_GETFL)
    fcntl.fcntl(volume, fcntl.F_SETFL, flags & ~os.O_DIRECT)
    assert fcntl.fcntl(others[0], fcntl.F_GETFL) == flags, "flags are shared"
    write, grow, shrink, seal, future = 8, 4, 2, 1, 16
    assert fcntl.fcntl(index, 1034) & 15 == fcntl.fcntl(record, 1034) & 15 == write | grow | shrink | seal
    assert fcntl.fcntl(state, 1034) & 23 == future | grow | shrink | seal
    for fd in (state, index, record):
        again = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
        for change in (lambda fd=again: os.pwrite(fd, b"x", 0), lambda fd=again: os.ftruncate(fd, 0),
                       lambda fd=again: mmap.mmap(fd, 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)):
            try:
                change()
            except PermissionError:
                continue
            sys.exit("it can be changed")
    print("sealed")


def member(mount):
    """A member of the group gets the volume, and passes it to its parent, which can write to more. What becomes of an
    attempt to open it for writing, or why it is not given."""
    parent, child = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        os.setgroups([])
        os.setgid(4343)
        os.setuid(4711)
        answer, fds = answered(greeted(mount), wish(mount))
        socket.send_fds(child, [reason(answer)[1].encode() or b"given"], fds)
        os._exit(0)
    child.close()
    why, fds, _, _ = socket.recv_fds(parent, 4096, 4)
    try:
        print(fds and os.open(f"/proc/self/fd/{fds[0]}", os.O_RDWR), why.decode())
    except OSError as error:
        print(why.decode(), os.strerror(error.errno))
    for fd in fds[:1]:
        fcntl.fcntl(fd, fcntl.F_SETFL, 0)  # without O_DIRECT, which needs memory that is aligned
        assert len(os.pread(fd, 4096, 0)) == 4096, "it cannot be read"


def fails(change):
    try:
        change()
    except OSError:
        return True
    return False


def cache(mount):
    """The cache on the machine can be read by who may read the volume, and changed by nobody who gets it."""
    peer = greeted(mount)
    answer, (table, chunks) = answered(peer, message(CACHE, b""))
    with open(f"{mount}/.datasetfs/version", encoding="utf-8") as version:
        volume = UUID(json.load(version)["volume_uuid"])
    assert reason(answer)[0] == 0 and os.pread(table, 32, 0)[16:] == volume.bytes, volume
    assert len(mmap.mmap(table, 4096, mmap.MAP_SHARED, mmap.PROT_READ)) == 4096 and os.pread(chunks, 0, 0) == b""
    grow, shrink, seal = 4, 2, 1
    assert fcntl.fcntl(table, 1034) & 7 == grow | shrink | seal
    for fd in (table, chunks):
        assert fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
        for change in (lambda fd=fd: os.open(f"/proc/self/fd/{fd}", os.O_RDWR),
                       lambda fd=fd: os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_TRUNC),
                       lambda fd=fd: os.truncate(f"/proc/self/fd/{fd}", 0), lambda fd=fd: os.ftruncate(fd, 0),
                       lambda fd=fd: os.fchmod(fd, 0o666), lambda fd=fd: os.pwrite(fd, b"x", 0),
                       lambda fd=fd: mmap.mmap(fd, 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)):
            assert fails(change), "it can be changed"
    for first in (0, 1, 0xffffffff):  # hits of slots that there are, and of others
        peer.send(message(HITS, struct.pack("<II", first, 0) + b"\xff" * 4032))
    answer, fds = answered(peer, wish(mount))
    assert reason(answer)[0] == 0 and len(fds) == 4, "after that"
    print("read-only")


def greedy(mount):
    """Asks and never reads: its connection ends, after few answers."""
    peer = greeted(mount)
    sent = 0
    try:
        while sent < 1000:
            peer.send(wish(mount))
            sent += 1
    except (BrokenPipeError, ConnectionResetError):
        pass
    assert sent < 1000, "it is served for ever"
    print("dropped")


def patient(mount):
    """Asks, and waits for the answer of a daemon whose device does not let it open the volume; or for its end."""
    peer = greeted(mount)
    peer.settimeout(None)
    peer.send(wish(mount))
    assert is_dropped(peer), "it is answered"
    print("dropped")


def flood(mount):
    """Many connections that say nothing; those beyond the limit are told so."""
    peers = []
    path = place(mount)
    while len(peers) < 3000:
        peer = connect(path)
        code, why = reason(peer.recv(4096))
        if code < 0:
            print(why)
            return
        peers.append(peer)
    sys.exit("no limit")


def reports(mount):
    """Trouble is counted and logged."""
    peer = greeted(mount)
    peer.send(message(REPORT, struct.pack("<5Q", 7, 7000, 1, 2, 3)))
    answered(peer, wish(mount))
    print("reported")


# ---- a daemon ----

def memfd(content, seals):
    fd = os.memfd_create("fake", os.MFD_ALLOW_SEALING)
    os.write(fd, content)
    fcntl.fcntl(fd, 1033, seals)
    return os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)


def slots(count, there):
    """The end of OPENED, for members by the bits of there."""
    return struct.pack("<II256Q", count, 0, *((not there >> slot & 1) for slot in range(256)))


def changed(record, at, field):
    content = os.pread(record, 1 << 30, 0)
    return memfd(content[:RECORD + at] + field + content[RECORD + at + len(field):], 15)


def spoil(fault, answer, fds):
    """The answer with this fault in it."""
    content = os.pread(fds[2], 1 << 30, 0)
    state = os.pread(fds[1], 4096, 0)
    if fault == "unsealed-index":
        fds[2] = memfd(content, 0)
    elif fault == "index-without-seal":
        fds[2] = memfd(content, 15 - 8)
    elif fault == "short-index":
        fds[2] = memfd(content[:-4096], 15)
    elif fault == "unsealed-state":
        fds[1] = memfd(state, 7)
    elif fault == "short-state":
        fds[1] = memfd(state[:100], 23)
    elif fault == "no-state":
        fds[1] = memfd(bytes(4096), 23)
    elif fault == "two-descriptors":
        fds = fds[:2]
    elif fault == "no-descriptors":
        fds = []
    elif fault == "two-members":
        fds = fds + fds[:1]
    elif fault == "a-pipe":
        fds = [os.pipe()[0], *fds[1:]]
    elif fault == "a-volume-to-write":
        fds = [os.open(os.readlink(f"/proc/self/fd/{fds[0]}"), os.O_RDWR), *fds[1:]]
    elif fault == "garbage":
        fds[3] = changed(fds[3], -64, os.urandom(64 + 512))
    elif fault == "a-short-record":
        fds[3] = memfd(os.pread(fds[3], 100, 0), 15)
    elif fault == "no-record":
        fds[3] = os.open("/dev/zero", os.O_RDONLY)
    elif fault == "many-modes":
        fds[3] = changed(fds[3], 12 - RECORD, struct.pack("<I", 0xffff))
    elif fault == "no-slots":
        answer = message(OPENED, answer[16:-SLOTS])
    elif fault in MEMBERS:
        answer = answer[:-SLOTS] + slots(*MEMBERS[fault])
    elif fault == "short-answer":
        answer = message(OPENED, answer[16:ANSWER])
    elif fault == "not-an-errno":
        answer = answer[:16] + struct.pack("<i", 77) + answer[20:]
    elif fault == "many-inodes":
        fds[3] = changed(fds[3], 0x118, struct.pack("<Q", 1 << 45))
    elif fault == "no-sequence":
        fds[3] = changed(fds[3], 0xd0, struct.pack("<Q", 1 << 24))
    elif fault == "another-index":  # two files are exchanged
        at = struct.unpack("<Q", os.pread(fds[3], 8, RECORD + 0x110))[0] + 5 * 32
        content = content[:at] + content[at + 32:at + 64] + content[at:at + 32] + content[at + 64:]
        fds[2] = memfd(content, 15)
    elif fault == "another-digest":
        fds[3] = changed(fds[3], 0x90, os.urandom(32))
    elif fault == "other-block-sums":
        fds[3] = changed(fds[3], 0x1a8, os.urandom(32))
    elif fault == "no-index":
        answer, fds = answer[:528] + bytes(8) + answer[536:], fds[:2]
    elif fault == "another":
        fds[3] = changed(fds[3], 0x80, bytes(16))
    elif fault != "none":
        sys.exit(f"no fault '{fault}'")
    return answer, fds


def pass_on(fault, peer, real):
    if fault == "hangs-up":
        peer.close()
        return
    if fault == "newer":
        peer.send(message(GREETING, bytes(512), latest=12, earliest=10))
        return
    upstream = connect(real)
    greeting = upstream.recv(4096)
    peer.send(os.urandom(528) if fault == "no-greeting" else greeting)
    request = peer.recv(4096)
    if not request:
        return
    upstream.send(request)
    answer, fds, _, _ = socket.recv_fds(upstream, 4096, 5)
    answer, fds = spoil(fault, answer, fds)
    peer.sendmsg([answer], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])


def fake(fault, path, real):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind("fake.socket")
    os.chmod("fake.socket", 0o666)
    listener.listen()
    os.rename("fake.socket", path)
    print("listening", flush=True)
    while True:
        try:
            pass_on(fault, listener.accept()[0], real)
        except ConnectionError:  # a daemon that starts elsewhere looked whether this one lives
            pass


if sys.argv[1] == "fake":
    fake(*sys.argv[2:])
else:
    globals()[sys.argv[1]](sys.argv[2])
