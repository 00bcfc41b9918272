#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No program has two global functions or variables of one name among the objects that it is linked from. Of two that
lie in archives, or of one that does, the linker takes the first without a word, and callers of the other one get that.
"""
import os
import re
import subprocess
import sys

# Objects that stand for a file of an archive on purpose; in tests/ each object that is no archive's may.
STAND_INS = {"src/preload/libdatasetfs-preload.so.p/" + name for name in ("absent.c.o", "opening.c.o", "several.c.o")}


def linked():
    """(program or archive, its objects, its archives) of each that build.ninja makes, if the objects are there."""
    build = os.environ["DATASETFS_BUILD"]
    with open(os.path.join(build, "build.ninja"), encoding="utf-8") as file:
        for line in file:
            made = re.match(r"build (\S+)[^:]*: (c_LINKER|STATIC_LINKER) (.*)", line)
            if made:
                words = made[3].split()
                objects = [word for word in words if word.endswith(".o")]
                if all(os.path.exists(os.path.join(build, name)) for name in objects):
                    yield made[1], objects, {word for word in words if word.endswith(".a") and not word.startswith("/")}


def globals_of(objects):
    """Object → the names that it defines for others, but for weak ones."""
    names = {name: [] for name in objects}
    listed = subprocess.run(["nm", "-A", "-g", "--defined-only", *objects], cwd=os.environ["DATASETFS_BUILD"],
                            stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in listed.splitlines():
        where, _, symbol = line.partition(":")
        kind, name = symbol.split()[-2:]
        if kind in "TDBRCGS":
            names[where].append(name)
    return names


def main():
    makes = list(linked())
    parts = {made: objects for made, objects, _ in makes}
    names = globals_of(sorted({name for objects in parts.values() for name in objects}))
    found, programs = set(), 0
    for program, objects, archives in makes:
        if program.endswith(".a"):
            continue
        programs += 1
        owners = {}
        own = [name for name in objects if not program.startswith("tests/") and name not in STAND_INS]
        for name in [*own, *(name for archive in sorted(archives) for name in parts.get(archive, ()))]:
            for symbol in names[name]:
                if owners.setdefault(symbol, name) != name:
                    found.add((symbol, owners[symbol], name, program))
    for clash in sorted(found):
        print("{}: {} and {}, both in {}".format(*clash))
    if programs < 9:
        sys.exit(f"fail: only {programs} programs found")
    print(f"{programs} programs, {sum(map(len, names.values()))} names in {len(names)} objects")
    if found:
        sys.exit(f"fail: {len(found)} names stand for two things")


main()
