# SPDX-License-Identifier: MIT
"""impostor.py MOUNTPOINT UID NAME=FILE|NAME@TARGET...: mounts a filesystem that calls itself datasetfs, as if user UID
had done so. Its .datasetfs holds files with the contents of those FILEs, and links to TARGETs. Ends by a signal."""
import ctypes
import os
import stat
import struct
import sys

LOOKUP, GETATTR, READLINK, OPEN, READ, RELEASE, INIT, FLUSH = 1, 3, 5, 14, 15, 18, 26, 25
ROOT, FOLDER, FIRST = 1, 2, 3
NO_ENTRY, NO_SYSTEM_CALL = -2, -38

entries = []
for word in sys.argv[3:]:
    if "=" in word:
        name, path = word.split("=", 1)
        with open(path, "rb") as file:
            entries.append((name, stat.S_IFREG | 0o444, file.read()))
    else:
        name, target = word.split("@", 1)
        entries.append((name, stat.S_IFLNK | 0o777, os.fsencode(target)))
numbers = {name: FIRST + i for i, (name, _, _) in enumerate(entries)}


def attributes(node):
    mode, size = stat.S_IFDIR | 0o555, 0
    if node >= FIRST:
        mode, size = entries[node - FIRST][1], len(entries[node - FIRST][2])
    return struct.pack("=QQQQQQIIIIIIIIII", node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def lookup(node, name):
    found = FOLDER if (node, name) == (ROOT, ".datasetfs") else numbers.get(name) if node == FOLDER else None
    return struct.pack("=QQQQII", found, 0, 0, 0, 0, 0) + attributes(found) if found else None


def answer(opcode, node, body):
    if opcode == INIT:
        return struct.pack("=IIIIHHIIHHI28x", 7, 31, 0, 0, 16, 12, 65536, 1, 16, 0, 0)
    if opcode == LOOKUP:
        return lookup(node, os.fsdecode(body.rstrip(b"\0")))
    if opcode == GETATTR:
        return struct.pack("=QII", 0, 0, 0) + attributes(node)
    if opcode == READLINK:
        return entries[node - FIRST][2]
    if opcode == OPEN:
        return struct.pack("=QII", 0, 1, 0)
    if opcode == READ:
        offset, size = struct.unpack_from("=QI", body, 8)
        return entries[node - FIRST][2][offset:offset + size]
    return b""


fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id={sys.argv[2]},group_id=0,allow_other".encode()
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"impostor", os.fsencode(sys.argv[1]), b"fuse.datasetfs", 6, options) != 0: # nosuid, nodev
    sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
print("ready", flush=True)
while True:
    request = os.read(fuse, 1 << 20)
    length, opcode, unique, node = struct.unpack_from("=IIQQ", request)
    known = opcode in (LOOKUP, GETATTR, READLINK, OPEN, READ, RELEASE, INIT, FLUSH)
    reply = answer(opcode, node, request[40:length]) if known else None
    if opcode in (2, 42): # FORGET, BATCH_FORGET
        continue
    error = 0 if reply is not None else NO_ENTRY if known else NO_SYSTEM_CALL
    os.write(fuse, struct.pack("=IiQ", 16 + len(reply or b""), error, unique) + (reply or b""))
