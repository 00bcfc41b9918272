# SPDX-License-Identifier: MIT
"""Runs the session of a section of a page, command by command, and compares what each prints with the page.

usage: manual_session.py PAGE SECTION COMMANDS
PAGE: a manual page, or a page in Markdown (*.md).
COMMANDS: how many there are at least. In the page, "..." is anything, on a line of its own any lines.
"""
import re
import subprocess
import sys


def blocks(page, title):
    """The lines of each block of a section that shows what is typed and printed."""
    text = open(page, encoding="utf-8").read()
    head, block = (r"## ", r"^```\n(.*?)^```\n") if page.endswith(".md") else (r"\.SH ", r"^\.ft CW\n(.*?)^\.ft\n")
    section = re.search(rf"^{head}{re.escape(title)}\n(.*?)(?=^{head}|\Z)", text, re.MULTILINE | re.DOTALL)[1]
    for lines in re.findall(block, section, re.MULTILINE | re.DOTALL):
        if page.endswith(".md"):
            yield lines.splitlines()
        else:
            plain = re.sub(r"\\([-&e])", lambda found: {"-": "-", "e": "\\"}.get(found[1], ""), lines)
            yield [line[4:] for line in plain.splitlines()]


def session(page, title):
    """Commands with the lines that they are to print."""
    for lines in blocks(page, title):
        expected = None
        for line in lines:
            if line.startswith("# "):
                expected = []
                yield line[2:], expected
            elif expected is not None:
                expected.append(" ".join(line.split()))


def pattern(lines):
    return "".join(r"(.*\n)*" if line == "..." else ".*".join(map(re.escape, re.split(r" ?\.{3} ?", line))) + "\n"
                   for line in lines)


commands = list(session(sys.argv[1], sys.argv[2]))
for command, expected in commands:
    print(f"# {command}", flush=True)
    done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL)
    print(done.stdout, end="", flush=True)
    found = "".join(" ".join(line.split()) + "\n" for line in done.stdout.splitlines())
    if not re.fullmatch(pattern(expected), found):
        sys.exit(f"fail: '{command}' is to print\n" + "\n".join(expected))
if len(commands) < int(sys.argv[3]):
    sys.exit(f"fail: only {len(commands)} commands found")
