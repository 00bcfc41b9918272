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
OURS = {"served", "real", "all", "table", "off", "report"}
CALLS = os.path.join(os.environ["DATASETFS_BUILD"], "tests", "preload", "calls")
# Functions that calls.sh cannot call, or calls by another way.
UNCALLED = {
    "llseek": "for old programs only: nobody can link with it",
    "io_queue_init": "libaio has no header here, and this is io_setup",
    "io_setup": "calls.c asks the loader for it, as libaio has no header here",
    "io_uring_queue_init_mem": "of newer releases of liburing",
    "pivot_root": "moves every process of the machine",
    "_IO_proc_open": "what popen is made of, with a FILE that only glibc makes",
    "_IO_file_attach": "what fdopen is made of, with a FILE that only glibc makes",
}
CLASSES = OURS | {"path", "harmless", "none"}


def read_list():
    """[(libraries, {name: class})] as they stand in the list, and what is wrong with the list itself."""
    groups, known, wrong, kind = [], set(), [], None
    with open(LIST, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words, where = line.split(), f"functions.list:{number}"
            if not words or words[0].startswith("#"):
                continue
            if words[0] == "library":
                groups.append((words[1:], {}))
            elif line.startswith(" "):
                wrong += [f"{where}: '{name}' is there twice" for name in words if name in known]
                known.update(words)
                groups[-1][1].update(dict.fromkeys(words, kind))
            else:
                kind = words[0]
                if kind not in CLASSES:
                    wrong.append(f"{where}: '{kind}' is no class: {', '.join(sorted(CLASSES))}")
                elif kind in ("harmless", "off") and len(words) < 2:
                    wrong.append(f"{where}: {kind}, and nothing says why")
    return groups, wrong


def symbols(path, kinds):
    """Names among the dynamic symbols of a program or library, of every version."""
    lines = subprocess.run(["nm", "-D", path], check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if line.split()[-2] in kinds}


def exported(path):
    """Functions of a library, weak ones and indirect ones too."""
    return symbols(path, ("T", "W", "i"))


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


def check_calls(groups):
    """Nothing is hooked and never tried."""
    wanted = {name for _, classes in groups for name, kind in classes.items() if kind in OURS}
    called = symbols(CALLS, ("U", "w"))
    return [f"'{name}' is hooked, and tests/preload/calls does not call it: add a line to one of its groups"
            for name in sorted(wanted - called - UNCALLED.keys())] + \
           [f"'{name}' is in UNCALLED, and tests/preload/calls calls it" for name in sorted(called & UNCALLED.keys())]


def main():
    groups, wrong = read_list()
    wrong += check_calls(groups)
    wrong += check_libraries(groups)
    wrong += check_preload(groups)
    for line in wrong:
        print(line)
    if wrong:
        sys.exit(f"fail: {len(wrong)} functions, the first: {wrong[0]}")


main()
