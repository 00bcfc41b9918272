#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a volume, a target or another program chose reaches a terminal through tools/text.c alone, which shows control
characters as numbers: reasons, names, paths and hosts are printed by text_print() and text_write(), never by stdio."""
import os
import re
import sys

FOREIGN = re.compile(r"(->|\.)(reason|what|name|path|host|target|title|text|subnqn|traddr|iopolicy)\b(?!\()|"
                     r"(path|name|reason)\b(?!\()")
OWN = re.compile(r"verbs\[i\]\.name|line->program") # names of our verbs
EXCUSED = {
    "tools/text.c",                # it is the one place
    "tools/reported.c",            # JSON, which json-c escapes
    "tools/exporter/exposition.c", # escapes as the formats of Prometheus demand
}


def calls(text):
    """(line, arguments) of what prints with stdio."""
    for match in re.finditer(r"(?<!\w)(?:v?f?printf|dprintf|f?puts|fwrite)\(", text):
        end, depth = match.end(), 1
        while depth:
            if text[end] == '"':
                end = re.compile(r'"(?:[^"\\]|\\.)*"').match(text, end).end()
                continue
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        yield text.count("\n", 0, match.start()) + 1, re.sub(r'"(?:[^"\\]|\\.)*"', "", text[match.end():end - 1])


def main():
    os.chdir(os.environ["DATASETFS_SOURCE"])
    seen, failed = 0, 0
    for where, _, files in os.walk("tools"):
        for path in (os.path.join(where, file) for file in sorted(files) if file.endswith(".c")):
            if path in EXCUSED:
                continue
            for line, arguments in calls(open(path, encoding="utf-8").read()):
                seen += 1
                if FOREIGN.search(OWN.sub("", arguments)):
                    print(f"{path}:{line}: prints what may be foreign, expected text_print() or text_write()")
                    failed = 1
    if seen < 100:
        print(f"only {seen} calls found")
        failed = 1
    sys.exit(failed)


main()
