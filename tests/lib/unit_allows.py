#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""unit_allows.py UNIT TRACE…: prints what strace(1) recorded and the limits of a service unit would refuse: system
calls, families of sockets, memory that is writable and executable, devices. systemd.exec(5),
systemd.resource-control(5)."""
import os
import re
import stat
import subprocess
import sys

# DevicePolicy=closed; block devices are told by what they are.
PSEUDO = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/log"}


def members(name, known):
    """The calls of a set, or the call itself."""
    if name[0] != "@":
        return {name}
    if name not in known:
        listed = subprocess.run(["systemd-analyze", "syscall-filter", name], stdout=subprocess.PIPE, text=True,
                                check=True)
        known[name] = set()
        for word in re.findall(r"^\s+([@a-z0-9_-]+)$", listed.stdout, re.M):
            known[name] |= members(word, known)
    return known[name]


def allowed(unit):
    """The calls that SystemCallFilter= leaves: systemd adds @default to a list of what is allowed."""
    known = {}
    calls = set(members("@default", known))
    for line in re.findall("^SystemCallFilter=(.*)", unit, re.M):
        for name in line.lstrip("~").split():
            calls = calls - members(name, known) if line[0] == "~" else calls | members(name, known)
    return calls


def refused_device(path, unit):
    """Whether a device that was opened is none of the unit's."""
    if path in PSEUDO or f"DeviceAllow={path} rw" in unit:
        return False
    return not (os.path.exists(path) and stat.S_ISBLK(os.stat(path).st_mode) and "DeviceAllow=block-* r\n" in unit)


def judge(line, unit, calls):
    """Why the unit would refuse what a line tells; None: it would not."""
    call = re.match(r"\d+ +([a-z0-9_]+)\((.*)", line)
    if not call:
        return None
    name, rest = call.groups()
    if name not in calls:
        return name
    if name == "socket":
        families = re.search("^RestrictAddressFamilies=(.*)", unit, re.M)[1].split()
        return None if re.match(r"\w+", rest)[0] in families else line
    if name in ("mmap", "mprotect") and "PROT_WRITE" in rest and "PROT_EXEC" in rest:
        return line
    is_closed = "DevicePolicy=closed\n" in unit or "PrivateDevices=yes\n" in unit
    opened = re.match(r'\w+, "(/dev/[^"]*)"', rest) if name == "openat" and is_closed else None
    return line if opened and refused_device(opened[1], unit) else None


def main(path, *traces):
    with open(path, encoding="utf-8") as file:
        unit = file.read()
    calls = allowed(unit)
    seen = 0
    refused = set()
    for trace in traces:
        with open(trace, encoding="utf-8") as file:
            for line in file:
                seen += 1
                refused.add(judge(line.strip(), unit, calls))
    refused.discard(None)
    print(*sorted(refused), sep="\n", end="")
    sys.exit(f"{seen} lines of strace" if refused or not seen else 0)


main(*sys.argv[1:])
