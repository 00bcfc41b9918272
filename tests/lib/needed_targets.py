# SPDX-License-Identifier: MIT
"""What ninja must make of a build in which meson runs the tests of some suites alone: everything but the programs of
its other tests.

usage: needed_targets.py BUILD [SUITE…]"""
import json
import os
import re
import subprocess
import sys

TESTS = ("tests/unit/", "tests/fuzz/")


def main(folder, *suites):
    listed = json.loads(subprocess.run(["meson", "introspect", "--tests", folder], stdout=subprocess.PIPE,
                                       check=True).stdout)
    wanted = {os.path.relpath(os.path.join(folder, word), folder) for test in listed for word in test["cmd"]
              if {name.split(":")[-1] for name in test["suite"]} & set(suites)}
    with open(os.path.join(folder, "build.ninja"), encoding="utf-8") as file:
        everything = re.search(r"^build all: phony (.*)$", file.read(), re.MULTILINE)[1].split()
    print(*(name for name in everything
            if not name.startswith("meson-") and (not name.startswith(TESTS) or name in wanted)))


main(os.path.realpath(sys.argv[1]), *sys.argv[2:])
