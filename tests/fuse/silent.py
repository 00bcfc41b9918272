# SPDX-License-Identifier: MIT
"""silent.py MOUNTPOINT: mounts a filesystem that calls itself datasetfs, takes requests and answers none of them. Who
waits for one cannot be killed. Ends, and the mount with it, by a signal."""
import ctypes
import os
import struct
import sys

INIT = 26

fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"silent", os.fsencode(sys.argv[1]), b"fuse.datasetfs", 1, options) != 0:
    sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
while True:
    request = os.read(fuse, 1 << 20)
    opcode, unique = struct.unpack_from("=IQ", request, 4)
    if opcode == INIT:
        reply = struct.pack("=IIIIHHIIHHI28x", 7, 31, 0, 0, 16, 12, 65536, 1, 16, 0, 0)
        os.write(fuse, struct.pack("=IiQ", 16 + len(reply), 0, unique) + reply)
        print("ready", flush=True)
