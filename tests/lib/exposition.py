# SPDX-License-Identifier: MIT
"""Reads what Prometheus scrapes, strictly: the text format 0.0.4.
usage: exposition.py FILE SERIES prints the value of a series, such as 'datasetfs_up{mountpoint="/mnt"}'; the labels may
stand in any order"""
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
SERIES = re.compile(rf"({NAME})(?:\{{((?:{LABEL})(?:,{LABEL})*)?\}})?")
VALUE = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?|Inf|NaN)")
ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}
SUFFIXES = {"counter": ("",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}


class Exposition:
    """families: name → (type, help); series: (name, labels as a frozenset of pairs) → the value's text."""

    def __init__(self, text):
        self.families, self.series = {}, {}
        assert text.endswith("\n") and "\r" not in text, "the last line does not end"
        family = None
        for line in text.split("\n")[:-1]:
            family = self.line(line, family)

    def line(self, line, family):
        words = line.split(" ", 3)
        if line.startswith("# "):
            kind, name, rest = words[1:]
            assert kind in ("HELP", "TYPE"), line
            assert re.fullmatch(NAME, name), line
            if name != family:
                assert name not in self.families, f"{name} comes twice"
                self.families[name] = {}
            assert kind not in self.families[name], f"{kind} of {name} comes twice"
            self.families[name][kind] = rest
            return name
        match = SERIES.match(line)
        assert match and line[match.end()] == " " and VALUE.fullmatch(line[match.end() + 1:]), f"no series: {line!r}"
        self.check(match[1], family)
        key = self.key(line[:match.end()])
        assert key not in self.series, f"{line} comes twice"
        self.series[key] = line[match.end() + 1:]
        return family

    def check(self, name, family):
        assert family, f"{name} comes before its family"
        kind = self.families[family]["TYPE"]
        assert name in [family + suffix for suffix in SUFFIXES[kind]], f"{name} is not of the {kind} {family}"

    @staticmethod
    def key(series):
        match = SERIES.fullmatch(series)
        assert match, f"no series: {series!r}"
        pairs = [(name, re.sub(r"\\.", lambda escape: ESCAPES[escape[0]], value))
                 for name, value in re.findall(LABEL, match[2] or "")]
        assert len(dict(pairs)) == len(pairs), f"a label comes twice: {series}"
        return match[1], frozenset(pairs)

    def value(self, series):
        return self.series[self.key(series)]


def load(path):
    with open(path, encoding="utf-8", newline="") as file:
        return Exposition(file.read())


if __name__ == "__main__":
    try:
        print(load(sys.argv[1]).value(sys.argv[2]))
    except KeyError:
        sys.exit(f"fail: no {sys.argv[2]} in {sys.argv[1]}")
