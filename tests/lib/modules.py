# SPDX-License-Identifier: MIT
"""What the modules of the tree must keep to; a module is X.c and X.h of one folder. Includes between modules form no
circle, nor do those between folders, and an external function that FOLDER/X.c defines is called X, X_… or FOLDER_X_…:
its name says where it stands. usage: modules.py, in the root of the source; layers.sh runs it"""
import os
import re
import sys

TREES = ("src", "mkfs", "tools")
# File: (prefixes that its functions may have instead, separated by blanks; why).
EXCEPTIONS = {
    "src/preload/absent.c": ("engines sections trust", "what a preloaded library is built without"),
    "src/image/sums/checksum_choose_stub.c": ("checksum_choose", "for machines where there is nothing to choose"),
    "tools/site/slurm/plugin.c": ("slurm_spank", "what Slurm calls"),
    "src/device/nvme/nvme_stub.c": ("nvme", "all of nvme.h, for a build without libnvme"),
}
# Folder: (the prefix that its functions may have as well, why).
INTERFACES = {
    "src/lib/api": ("dsfs", "what programs call, in files by subject"),
    "src/lib": ("dsfs", "the calls of arenas, which both ways use as well"),
    "src/preload/hooks": ("hook", "functions that stand in front of the C library's, hook_NAME()"),
}
# Comments and literals, with the line ends in them kept, and directives with the lines that continue them.
NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*',
                   re.S | re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)\.h"', re.M)


def modules():
    """Module → its files."""
    found = {}
    for tree in TREES:
        for folder, _, files in os.walk(tree):
            for file in files:
                if file.endswith((".c", ".h")):
                    found.setdefault(os.path.join(folder, file[:-2]), []).append(os.path.join(folder, file))
    return found


def includes(module, files, known):
    """The modules that it includes. A name is looked for beside the file, then in the tree's root, then in src, and in
    tools/site for a file of tools."""
    tree = module.split("/")[0]
    places = (os.path.dirname(module), tree, "src") + (("tools/site",) if tree == "tools" else ())
    for file in files:
        for name in INCLUDE.findall(open(file, encoding="utf-8").read()):
            target = next((path for path in (os.path.join(place, name) for place in places) if path in known), None)
            if not target and not os.path.exists(f"include/{name}.h"):
                sys.exit(f"{file} includes {name}.h, which this test does not find: correct it")
            if target and target != module:
                yield target


def shortest_circle(start, edges):
    """The modules on the shortest way from start to itself, or None."""
    came_from, reached = {}, [start]
    for module in reached:
        for target in sorted(edges[module]):
            if target == start:
                way = [start]
                while module != start:
                    way.insert(0, module)
                    module = came_from[module]
                return [start] + way
            if target not in came_from:
                came_from[target] = module
                reached.append(target)
    return None


def reachable(start, edges):
    seen, reached = set(), [start]
    for module in reached:
        for target in edges[module] - seen:
            seen.add(target)
            reached.append(target)
    return seen


def circles(edges):
    """Each set of modules that all include each other by some way, with a shortest circle in it."""
    after = {module: reachable(module, edges) for module in edges}
    done = set()
    for module in sorted(edges):
        if module in after[module] and module not in done:
            members = {other for other in after[module] if module in after[other]}
            done |= members
            yield sorted(members), min((shortest_circle(member, edges) for member in sorted(members)), key=len)


def folders(edges):
    """Folder → the other folders whose modules its own include."""
    found = {os.path.dirname(module): set() for module in edges}
    for module, targets in edges.items():
        folder = os.path.dirname(module)
        found[folder] |= {os.path.dirname(target) for target in targets} - {folder}
    return found


def functions(text):
    """Names of the external functions that are defined, and 1 + the line of each."""
    text = NOISE.sub(lambda match: "\n" * match[0].count("\n"), text)
    for body in re.finditer(r"^\{", text, re.M):
        head = re.split(r"[;}]", text[:body.start()])[-1]
        head = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", head, flags=re.S)
        name = re.search(r"(\w+)\s*\(", head)
        if name and "=" not in head and not re.search(r"\bstatic\b", head):
            yield name[1], text.count("\n", 0, body.start())


def begins_with(function, prefixes):
    return any(function == prefix or function.startswith(prefix + "_") for prefix in prefixes)


def wrong_names(file):
    """Functions that are not called after their file, as lines of text."""
    folder, name = file[:-2].split("/")[-2:]
    named = [(function, line) for function, line in functions(open(file, encoding="utf-8").read())
             if function != "main" and not begins_with(function, (name, f"{folder}_{name}"))
             and not begins_with(function, INTERFACES.get(os.path.dirname(file), ())[:1])]
    if file in EXCEPTIONS:
        if not named:
            yield f"{file} needs no exception any more: correct this test"
        named = [(function, line) for function, line in named if not begins_with(function, EXCEPTIONS[file][0].split())]
    for function, line in named:
        yield f"{file}:{line}: {function}() is not called after its file"


def main():
    known = modules()
    edges = {module: set(includes(module, files, known)) for module, files in known.items()}
    failed = len(edges) < 100 or sum(map(len, edges.values())) < 300
    if failed:
        print(f"only {len(edges)} modules with {sum(map(len, edges.values()))} includes were found: correct this test")
    for kind, graph in (("modules", edges), ("folders", folders(edges))):
        for members, circle in circles(graph):
            print(f"{len(members)} {kind} include each other: {' '.join(members)}\n  one circle: {' → '.join(circle)}")
            failed = True
    for file in sorted(file for files in known.values() for file in files if file.endswith(".c")):
        for line in wrong_names(file):
            print(line)
            failed = True
    for file in sorted(set(EXCEPTIONS) - {file for files in known.values() for file in files}):
        print(f"{file} is an exception and does not exist: correct this test")
        failed = True
    return failed


sys.exit(main())
