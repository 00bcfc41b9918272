#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: plain once
"""No function that takes a descriptor or a FILE is unknown: functions.list against what the C library, libaio and
liburing export on this machine, and against what libdatasetfs-preload.so does."""
import ctypes
import os
import subprocess
import sys

LIST = os.path.join(os.environ["DATASETFS_SOURCE"], "tests", "preload", "functions.list")
PRELOAD = os.path.join(os.environ["DATASETFS_BUILD"], "src", "preload", "libdatasetfs-preload.so")
OURS = {"served", "real", "all", "table", "off"}
CLASSES = OURS | {"path", "harmless", "none"}


def read_list():
    """[(libraries, {name: class})] as they stand in the list, and what is wrong with the list itself."""
    groups, known, wrong = [], set(), []
    with open(LIST, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.split(None, 2)
            if not words or words[0].startswith("#"):
                continue
            if words[0] == "library":
                groups.append((line.split()[1:], {}))
                continue
            where = f"functions.list:{number}: '{words[0]}'"
            if words[0] in known:
                wrong.append(f"{where} is there twice")
            if len(words) < 2 or words[1] not in CLASSES:
                wrong.append(f"{where} has no class: {', '.join(sorted(CLASSES))}")
            elif words[1] in ("harmless", "off") and len(words) < 3:
                wrong.append(f"{where} is {words[1]}, and nothing says why")
            known.add(words[0])
            groups[-1][1][words[0]] = (words + [""])[1]
    return groups, wrong


def exported(path):
    """Functions in the dynamic symbols of a library: of every version, weak ones and indirect ones too."""
    lines = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True).stdout
    symbols = (line.split() for line in lines.splitlines())
    return {symbol[2].split("@")[0] for symbol in symbols if symbol[1] in ("T", "W", "i")}


def folder_of_libc():
    """Where the loader found the C library of this machine: the others lie beside it."""
    ctypes.CDLL("libc.so.6")
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next(os.path.dirname(line.split()[5]) for line in maps if line.rstrip().endswith("/libc.so.6"))


def check_libraries(groups):
    """What they export and nobody has looked at yet."""
    wrong, folder = [], folder_of_libc()
    for libraries, classes in groups:
        for library in libraries:
            path = os.path.join(folder, library)
            if not os.path.exists(path):
                print(f"- {library} is not installed: its functions are not compared")
                continue
            functions = exported(path)
            print(f"- {library}: {len(functions)} functions")
            wrong += [f"{library} exports '{name}', which is not in functions.list: look up its prototype, add it with "
                      "its class, and if it takes a descriptor, hook it in src/preload/"
                      for name in sorted(functions - classes.keys())]
    return wrong


def check_preload(groups):
    """Each function of one of our classes is hooked, and no other."""
    listed = {name: kind for _, classes in groups for name, kind in classes.items()}
    wanted = {name for name, kind in listed.items() if kind in OURS}
    hooked = exported(PRELOAD)
    print(f"- libdatasetfs-preload.so: {len(hooked)} functions, {len(wanted)} wanted")
    return [f"'{name}' is '{listed[name]}' in functions.list, and libdatasetfs-preload.so does not export it: "
            "hook it in src/preload/" for name in sorted(wanted - hooked)] + \
           [f"libdatasetfs-preload.so exports '{name}', which is '{listed.get(name, 'missing')}' in functions.list: "
            "give it the class of what the hook does" for name in sorted(hooked - wanted)]


def main():
    groups, wrong = read_list()
    wrong += check_libraries(groups)
    wrong += check_preload(groups)
    for line in wrong:
        print(line)
    if wrong:
        sys.exit(f"fail: {len(wrong)} functions, the first: {wrong[0]}")


main()
