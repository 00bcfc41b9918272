#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Signs as a token does that holds a key of the kind sk-ssh-ed25519 (OpenSSH's PROTOCOL.u2f, PROTOCOL.sshsig).

usage: token.py key NAME: makes NAME.pem and the public key NAME.pub; token.py sign NAME STATEMENT: writes STATEMENT.sig
"""
import base64
import hashlib
import struct
import subprocess
import sys

KIND, APPLICATION = b"sk-ssh-ed25519@openssh.com", b"ssh:"
TOUCHED_AND_VERIFIED, COUNTER = 5, 77


def field(value):
    return struct.pack(">I", len(value)) + value


def openssl(*words, said=None):
    return subprocess.run(["openssl", *words], input=said, check=True, capture_output=True).stdout


def public_key(name):
    point = openssl("pkey", "-in", f"{name}.pem", "-pubout", "-outform", "DER")[-32:]
    return field(KIND) + field(point) + field(APPLICATION)


def make_key(name):
    openssl("genpkey", "-algorithm", "ed25519", "-out", f"{name}.pem")
    with open(f"{name}.pub", "w", encoding="ascii") as out:
        out.write(f"{KIND.decode()} {base64.b64encode(public_key(name)).decode()} {name}\n")


def sign(name, statement):
    with open(statement, "rb") as file:
        told = b"SSHSIG" + field(b"datasetfs") + field(b"") + field(b"sha512")
        told += field(hashlib.sha512(file.read()).digest())
    tail = bytes([TOUCHED_AND_VERIFIED]) + struct.pack(">I", COUNTER)
    with open(f"{statement}.token", "wb") as out:
        out.write(hashlib.sha256(APPLICATION).digest() + tail + hashlib.sha256(told).digest())
    signature = openssl("pkeyutl", "-sign", "-inkey", f"{name}.pem", "-rawin", "-in", f"{statement}.token")
    blob = b"SSHSIG" + struct.pack(">I", 1) + field(public_key(name)) + field(b"datasetfs") + field(b"")
    blob += field(b"sha512") + field(field(KIND) + field(signature) + tail)
    text = base64.b64encode(blob).decode()
    with open(f"{statement}.sig", "w", encoding="ascii") as out:
        out.write("-----BEGIN SSH SIGNATURE-----\n")
        out.writelines(f"{text[at:at + 70]}\n" for at in range(0, len(text), 70))
        out.write("-----END SSH SIGNATURE-----\n")


if sys.argv[1] == "key":
    make_key(sys.argv[2])
else:
    sign(*sys.argv[2:4])
