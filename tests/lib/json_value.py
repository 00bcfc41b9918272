# SPDX-License-Identifier: MIT
"""Prints a value of a JSON document: json_value.py a.b.0.c [FILE]. Keys may be joined by | to try several."""
import json
import sys


def step(value, key):
    if isinstance(value, list):
        return value[int(key)]
    for name in key.split("|"):
        if name in value:
            return value[name]
    sys.exit(f"fail: no '{key}' in the JSON, which has: {', '.join(value)}")


def main():
    stream = open(sys.argv[2]) if len(sys.argv) > 2 else sys.stdin
    value = json.load(stream)
    for key in filter(None, sys.argv[1].split(".")):
        value = step(value, key)
    if isinstance(value, bool):
        value = str(value).lower()
    print(json.dumps(value) if isinstance(value, (dict, list)) else value)


main()
