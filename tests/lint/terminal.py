#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Text that a volume, a source, a target or another program chose reaches a terminal through src/base/text/shown.c (in
tools by tools/text.h) or src/base/log.c alone, which show control characters as numbers. So stdio prints literals,
numbers, and strings that are known to be ours: everything else is refused here."""
import os
import re
import sys

# Functions that return text of ours: digits, units, words.
FUNCTIONS = re.compile(r"(format_\w+|rate_format(_number)?|text_(time|span|type)|wire_opcode_name)$")
CONSTANT = re.compile(r"[A-Z][A-Z0-9_]+$")

# Strings of ours by file: words from tables, and buffers that such functions filled.
OURS = {
    "mkfs/summary.c": {"digest"},
    "src/base/program/options.c": {"option", "description", "line->program", "line->summary", "line->usage"},
    "src/base/program/progress.c": {"bar", "line", "s->phase"},
    "tools/describe/diff/diff_text.c": {"word"},
    "tools/describe/common/chart.c": {"eighths[filled % units]", "what"},
    "tools/describe/survey/survey_text.c": {"title"},
    "tools/export/signatures.c": {"version->signatures"}, # parsed before
    "tools/list/list.c": {"list_use[publisher->use]", "uuid"},
    "tools/main.c": {"summary", "verbs[i].line->usage", "verbs[i].name"},
    "tools/site/nvme/inspect.c": {"host"}, # a UUID
    "tools/sign.c": {"line"}, # a statement
    "tools/stat.c": {"copies", "place", "stat_codec(chunk)", "sum"},
    "tools/status/status.c": {"earlier"},
    "tools/subverb.c": {"line->program", "line->summary", "page", "verbs[i].line->summary", "verbs[i].line->usage",
                        "verbs[i].name"},
    "tools/extract/ls.c": {"mode"},
}

listed = set() # (file, string) that was looked for there

# Files that write other things than lines for people, or are the places that show foreign text.
EXCUSED = {
    "mkfs/source/from_list.c": "copies a list of names into a temporary file",
    "mkfs/source/remote/bucket.c": "URLs of requests",
    "mkfs/source/remote/pax.c": "headers of an archive",
    "src/base/text/json.c": "JSON, which escapes",
    "src/base/text/label.c": "labels of metrics, which escape",
    "src/base/text/settings.c": "words of a file for programs, which escape",
    "src/base/log.c": "shows what is foreign",
    "src/base/text/shown.c": "shows what is foreign",
    "src/serve/damage.c": "tabs between numbers, words and a label, for programs",
    "src/serve/dotdir/metrics.c": "metrics: labels go through label.c",
    "tools/dump.c": "the dump, which escapes",
    "tools/site/exporter/devices.c": "metrics: labels go through label.c",
    "tools/site/exporter/exposition.c": "escapes as the formats of Prometheus demand",
    "tools/grid.c": "lines of cells that text.h and shown.h have filled",
}

CALL = re.compile(r"(?<!\w)(vfprintf|vprintf|vdprintf|fprintf|printf|dprintf|fputs|puts|fwrite|putchar|putc|fputc)\(")
LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')
CHARACTER = re.compile(r"'(?:[^'\\]|\\.)+'")
CONVERSION = re.compile(r"%[-+ #0]*(\*|\d+)?(?:\.(\*|\d*))?(?:hh|h|ll|l|j|z|t)?([a-zA-Z%])")


def arguments(text, begin):
    """The arguments of a call, whose first one begins there."""
    found, depth, at, start = [], 1, begin, begin
    while depth:
        quoted = LITERAL.match(text, at) or CHARACTER.match(text, at)
        if quoted:
            at = quoted.end()
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0 or (depth == 1 and text[at] == ","):
            found.append(text[start:at].strip())
            start = at + 1
        at += 1
    return found


def alternatives(expression):
    """What an expression with ?: can be."""
    expression = expression.strip()
    while expression.startswith("(") and arguments(expression, 1)[0] == expression[1:-1].strip():
        expression = expression[1:-1].strip()
    parts, depth, start, at, last = [], 0, 0, 0, ""
    while at < len(expression):
        quoted = LITERAL.match(expression, at) or CHARACTER.match(expression, at)
        if quoted:
            at = quoted.end()
            continue
        character = expression[at]
        depth += {"(": 1, ")": -1, "[": 1, "]": -1}.get(character, 0)
        if depth == 0 and character in "?:":
            if character == ":":
                parts.append(expression[start:at])
            start, last = at + 1, character
        at += 1
    if not last:
        return [expression]
    return [each for part in parts + [expression[start:]] for each in alternatives(part)]


def is_ours(expression, path):
    """Whether nobody else chose this text."""
    expression = re.sub(r"^\([\w ]+\*?\)\s*", "", expression.strip())
    if not CHARACTER.sub("", LITERAL.sub("", expression)).strip() or CONSTANT.match(expression):
        return True
    call = re.match(r"(\w+)\(", expression)
    if call and FUNCTIONS.match(call.group(1)):
        return True
    listed.add((path, expression))
    return expression in OURS.get(path, ())


def strings(form, values):
    """The values that a format prints as text."""
    text = re.sub(r"\bPRI\w+\b", '"d"', form)
    text = "".join(literal[1:-1] for literal in LITERAL.findall(text))
    at = 0
    for width, precision, kind in CONVERSION.findall(text):
        at += (width == "*") + (precision == "*")
        if kind == "%":
            continue
        if kind in "sc":
            yield values[at]
        at += 1


def foreign(name, found, path):
    """What a call prints that is not known to be ours."""
    if name in ("fputs", "puts", "putchar", "putc", "fputc"):
        values = [CHARACTER.sub("", found[0])]
    elif name == "fwrite" or name.startswith("v"):
        values = found[:1]
    else:
        at = 0 if name == "printf" else 1
        values = [value for form in alternatives(found[at]) for value in strings(form, found[at + 1:])]
    return [each for value in values for each in alternatives(value) if each and not is_ours(each, path)]


def prints():
    """(path, line, string) of all that is printed and not known to be ours."""
    for folder in "src", "mkfs", "tools":
        for where, _, files in os.walk(folder):
            for path in (os.path.join(where, file) for file in sorted(files) if file.endswith(".c")):
                text = open(path, encoding="utf-8").read()
                for call in CALL.finditer(text):
                    for value in foreign(call.group(1), arguments(text, call.end()), path):
                        yield path, text.count("\n", 0, call.start()) + 1, value


def main():
    os.chdir(os.environ["DATASETFS_SOURCE"])
    failed, excused = 0, set()
    for path, line, value in prints():
        excused.add(path)
        if path not in EXCUSED:
            print(f"{path}:{line}: prints '{value}', which may be foreign: expected text_print() or shown_print(), or "
                  "that it is listed as ours")
            failed = 1
    # This is also how it shows that the calls are found at all.
    stale = [f"{path}: {text}" for path, texts in OURS.items() for text in texts if (path, text) not in listed]
    for path in stale + [path for path in EXCUSED if path not in excused]:
        print(f"tests/lint/terminal.py: '{path}' is listed, and there is no such thing")
        failed = 1
    sys.exit(failed)


main()
