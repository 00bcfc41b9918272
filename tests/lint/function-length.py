#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No C function is longer than 45 lines, unless a comment /* long: REASON */ stands above it."""
import os
import re
import statistics
import sys

LIMIT = 45
FOLDERS = ("include", "src", "mkfs", "tools", "tests")


def functions(lines):
    """(name, first line, last line, excused): bodies begin with { and end with } in the first column."""
    start = None
    for number, line in enumerate(lines):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start is not None:
            head = start - 1
            while head > 0 and lines[head - 1].strip() and not re.match(r"[}#]|.*(;|\*/)\s*$", lines[head - 1]):
                head -= 1
            name = re.search(r"(\w+)\s*\(", lines[head])
            above = " ".join(lines[max(0, head - 6):head])
            excused = re.search(r"/\* long: \S", above.rsplit("}", 1)[-1]) is not None
            yield name.group(1) if name else "?", head + 1, number + 1, number - head + 1, excused
            start = None


def main():
    os.chdir(os.environ["DATASETFS_SOURCE"])
    lengths, failed = [], 0
    for folder in FOLDERS:
        for where, _, files in os.walk(folder):
            for file in sorted(files):
                if not file.endswith((".c", ".h")):
                    continue
                path = os.path.join(where, file)
                lines = open(path, encoding="utf-8").read().split("\n")
                for name, first, _, length, excused in functions(lines):
                    if not path.startswith("tests"):
                        lengths.append(length)
                    if length > LIMIT and not excused:
                        failed += 1
                        print(f"{path}:{first}: {name} has {length} lines, the limit is {LIMIT}")
    if not lengths:
        sys.exit("fail: no function was found")
    short = sum(length <= 15 for length in lengths)
    print(f"{len(lengths)} functions, median {statistics.median(lengths):.0f} lines, "
          f"{100 * short // len(lengths)} % of 15 or fewer, longest {max(lengths)}")
    if failed:
        sys.exit(f"fail: {failed} functions are too long")


main()
