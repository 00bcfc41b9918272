# SPDX-License-Identifier: MIT
"""Runs the session of a section of a manual page, command by command, and compares what each prints with the page.

usage: manual_session.py PAGE SECTION COMMANDS
COMMANDS: how many there are at least. In the page, "..." is anything, on a line of its own any lines.
"""
import re
import subprocess
import sys


def section(page, title):
    text = open(page, encoding="utf-8").read()
    return re.search(rf"^\.SH {re.escape(title)}\n(.*?)(?=^\.SH |\Z)", text, re.MULTILINE | re.DOTALL)[1]


def session(text):
    """Commands with the lines that they are to print."""
    for block in re.findall(r"^\.ft CW\n(.*?)^\.ft\n", text, re.MULTILINE | re.DOTALL):
        plain = re.sub(r"\\([-&e])", lambda found: {"-": "-", "e": "\\"}.get(found[1], ""), block)
        expected = None
        for line in (line[4:] for line in plain.splitlines()):
            if line.startswith("# "):
                expected = []
                yield line[2:], expected
            elif expected is not None:
                expected.append(" ".join(line.split()))


def pattern(lines):
    return "".join(r"(.*\n)*" if line == "..." else ".*".join(map(re.escape, re.split(r" ?\.{3} ?", line))) + "\n"
                   for line in lines)


commands = list(session(section(sys.argv[1], sys.argv[2])))
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
