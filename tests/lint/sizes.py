#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""4096 is the size of a block, of a sector, of what direct I/O is aligned to, and on some machines of a memory page: in
C it stands only behind a #define, whose name says which of these it is."""
import os
import re
import sys

FOLDERS = ("include", "src", "mkfs", "tools")
NOT_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\])*"', re.S)
HAS_NAME = re.compile(r"\s*#\s*define\b|DSFS_SIZE\(")


def code(path):
    """The lines of a file, with blanks instead of comments and strings."""
    with open(path, encoding="utf-8") as file:
        return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), file.read()).splitlines()


def main():
    files = found = 0
    for folder in FOLDERS:
        for directory, _, names in os.walk(os.path.join(os.environ["DATASETFS_SOURCE"], folder)):
            for path in (os.path.join(directory, name) for name in names if name.endswith((".c", ".h"))):
                files += 1
                for number, line in enumerate(code(path), 1):
                    if re.search(r"\b4096[uUlL]*\b", line) and not HAS_NAME.match(line):
                        print(f"{path}:{number}: 4096 without a name")
                        found += 1
    print(f"{files} files")
    return found > 0 or files < 50


sys.exit(main())
