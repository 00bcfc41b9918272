#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke daemon in=asan
# datasetfs-members(7), as it stands: its session is run on files, command by command, and prints what the page says.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

mkdir -p photos/cat photos/dog mnt
for i in {1..20}; do
    head -c $((i * 3000)) /dev/urandom >photos/cat/$i.jpg
    head -c $((i * 7000)) /dev/urandom >photos/dog/$i.jpg
done
head -c 5000000 /dev/urandom >photos/large

python3 - "$DATASETFS_SOURCE/man/datasetfs-members.7" <<'END' || fail "datasetfs-members(7) and the programs disagree"
import re, subprocess, sys


def session(page):
    """Commands with the lines that they are to print."""
    text = open(page, encoding="utf-8").read()
    for block in re.findall(r"^\.ft CW\n(.*?)^\.ft\n", text, re.MULTILINE | re.DOTALL):
        lines = [line[4:] for line in re.sub(r"\\([-&e])", lambda found: {"-": "-", "e": "\\"}.get(found[1], ""),
                                             block).splitlines()]
        if not lines[0].startswith("$ "):
            continue
        for line in lines:
            if line.startswith("$ "):
                command, expected = line[2:], []
                yield command, expected
            else:
                expected.append(" ".join(line.split()))


def pattern(lines):
    """What they match: ... is anything, on a line of its own any lines."""
    return "".join(r"(.*\n)*" if line == "..." else ".*".join(map(re.escape, re.split(r" ?\.{3} ?", line))) + "\n"
                   for line in lines)


# Lines that mkdatasetfs prints if it takes longer than two seconds.
PROGRESS = re.compile(r"[a-z ]+: \d+ files, .*/s, \d+ s")
count = 0
for command, expected in list(session(sys.argv[1])):
    print(f"$ {command}", flush=True)
    done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL)
    found = "".join(" ".join(line.split()) + "\n" for line in done.stdout.splitlines() if not PROGRESS.fullmatch(line))
    print(done.stdout, end="", flush=True)
    if not re.fullmatch(pattern(expected), found):
        sys.exit(f"fail: '{command}' is to print\n" + "\n".join(expected))
    count += 1
if count < 10:
    sys.exit(f"fail: only {count} commands found")
END
