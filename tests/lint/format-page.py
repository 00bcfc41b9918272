#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the manual with the public headers: datasetfs-volume(5) with format.h and with the messages of src/image,
datasetfs-control(5) with control.h.

Both directions: every struct, field, offset, size, constant and feature bit of the header stands in the page with
the same value and nothing else does; rules are numbered without a gap; every reason to refuse bytes in src/image
stands under exactly one rule, and every message in the page exists; every field of the JSON of a mount is explained.
Functions exist that tests/bench/RESULTS.md and the README.md of a folder of code name. Packed again (as root, with the
programs in PATH), the example gives the bytes and the dump that the page shows.

usage: format-page.py [SOURCE_ROOT]
"""
import ast
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
HEADER = ROOT / "include/datasetfs/format.h"
PAGE = ROOT / "man/datasetfs-volume.5"
IMAGE = ROOT / "src/image"
CONTROL = ROOT / "include/datasetfs/control.h"
CONTROL_PAGE = ROOT / "man/datasetfs-control.5"

# The only reasons with such a code that are no rule about bytes, but about the digest that a mount asks for.
NOT_A_RULE = {"version 'S' has the digest S, expected S",
              "version 'S' has the digest S, expected S, which version 'S' has: choose it with version=S"}

complaints = []


def complain(text):
    complaints.append(text)


def compare(what, header, page):
    """Both are dicts; says every difference of keys and of values."""
    for key in header.keys() | page.keys():
        if key not in page:
            complain(f"{what} {key}: in the header, not in the page")
        elif key not in header:
            complain(f"{what} {key}: in the page, not in the header")
        elif header[key] != page[key]:
            complain(f"{what} {key}: {header[key]} in the header, {page[key]} in the page")


# --- the header ---

BASE_SIZES = {"uint8_t": 1, "dsfs_le16": 2, "dsfs_le32": 4, "dsfs_le64": 8}
FIELD = re.compile(r"\s*(?:struct )?(\w+) (\w+)(?:\[(\d+)\])?;\s*(?:/\* ([0-9a-f]+)\b)?")


def header_structs(text):
    """{(struct, field): (offset, size)}; offsets are counted here and compared with the comments."""
    fields, sizes = {}, dict(BASE_SIZES)
    for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", text, re.M | re.S):
        offset = 0
        for line in body.splitlines():
            match = FIELD.match(line)
            if not match:
                if line.strip() and not line.strip().startswith(("/*", "*")):
                    complain(f"struct {name}: cannot read the line '{line.strip()}'")
                continue
            kind, field, count, comment = match.groups()
            size = sizes[kind] * int(count or 1)
            fields[name, field] = (offset, size)
            if comment is None or int(comment, 16) != offset:
                complain(f"struct {name}.{field}: comment says {comment}, it lies at {offset:x}")
            offset += size
        sizes[name] = offset
    return fields


def header_value(expression, known):
    """The value of a C constant expression or string."""
    strings = re.findall(r'"((?:[^"\\]|\\.)*)"', expression)
    if strings:
        return " ".join(f"{b:02x}" for b in ast.literal_eval('b"' + "".join(strings) + '"'))
    expression = re.sub(r"UINT64_C\((\w+)\)", r"\1", expression)
    expression = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", expression)
    return eval(expression, {"__builtins__": {}}, known)  # the project's own header


def header_constants(text):
    known = {}
    for name, expression in re.findall(r"^#define (DSFS_\w+)\s+(.+?)\s*(?:/\*.*)?$", text, re.M):
        known[name] = header_value(expression, known)
    for body in re.findall(r"^enum \{(.*?)\};", text, re.M | re.S):
        for name, value in re.findall(r"(DSFS_\w+) = (\w+)", body):
            known[name] = int(value, 0)
    return known


def is_feature(name):
    return "COMPAT" in name  # COMPAT and INCOMPAT


def header_features(constants):
    """{name: bit}; also sees that the masks of known bits are made of the bits that are defined."""
    bits = {n: v for n, v in constants.items() if is_feature(n) and not n.endswith("_KNOWN")}
    for name, mask in constants.items():
        if is_feature(name) and name.endswith("_KNOWN"):
            prefix = name[: -len("KNOWN")]
            defined = sum(value for n, value in bits.items() if n.startswith(prefix))
            if mask != defined:
                complain(f"{name} is {mask:#x}, the bits defined for it are {defined:#x}")
    return {name: value.bit_length() - 1 for name, value in bits.items()}


# --- the page ---

def page_tables(text):
    """[(name of the section above, its rows with the heading first)]; a row is a list of cells."""
    tables, section = [], ""
    for part in re.split(r"^(\.S[HS] .*)$", text, flags=re.M):
        if part.startswith(".S"):
            section = part[4:]
            continue
        for body in re.findall(r"^\.TS\n[^\n]*\.\n(.*?)^\.TE$", part, re.M | re.S):
            body = re.sub(r"T\{\n(.*?)\nT\}", lambda m: m.group(1).replace("\n", " "), body, flags=re.S)
            tables.append((section, [row.split("\t") for row in body.splitlines()]))
    return tables


def page_structs(tables):
    fields = {}
    for section, rows in tables:
        if rows[0] != ["Offset", "Size", "Name", "Meaning"]:
            continue
        name = re.search(r"struct (\w+)", section)
        if not name:
            complain(f"a table of fields stands below '{section}', which names no struct")
            continue
        for row in rows[1:]:
            if len(row) != 4 or not row[3]:
                complain(f"{section}: a row without four cells: {row}")
                continue
            fields[name.group(1), row[2]] = (int(row[0], 16), int(row[1]))
    return fields


def page_column(tables, heading, key, value, convert):
    """{cell key: cell value} of the tables with this heading."""
    found = {}
    for section, rows in tables:
        if rows[0] == heading:
            for row in rows[1:]:
                found[row[key]] = convert(row[value])
    return found


def number_or_text(cell):
    return int(cell) if cell.isdigit() else cell


# --- rules and messages ---

CALL = re.compile(r"error_set\(\s*[^,]+,\s*-(?:EBADMSG|EOPNOTSUPP),\s*((?:\"(?:[^\"\\]|\\.)*\"|PRI\w+|\s)+)")
CONVERSION = re.compile(r"%[-#0-9.*]*(?:hh|h|ll|l|z|j)?([diuxXosc])")


def code_messages():
    """{reason as the page writes it: file}"""
    found = {}
    for path in sorted(IMAGE.rglob("*.c")):
        for literal in CALL.findall(path.read_text()):
            literal = re.sub(r"PRI([dux])\w+", r'"\1"', literal)
            text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literal))
            found[CONVERSION.sub(lambda m: "S" if m.group(1) == "s" else "N", text)] = path.name
    return found


def page_rules(text):
    """[(number, its messages)] in the order of the page."""
    section = re.search(r"^\.SH RULES\n(.*?)^\.SH ", text, re.M | re.S)
    rules = []
    for line in section.group(1).splitlines() if section else []:
        if re.fullmatch(r"\.B R\d+", line):
            rules.append((int(line[4:]), []))
        elif line.startswith(".I ") and re.search(r"N|:|\bS\b", line) and rules:
            rules[-1][1].append(line[3:])
    return rules


def check_rules(text):
    rules = page_rules(text)
    numbers = [number for number, _ in rules]
    if not numbers or numbers != list(range(1, len(numbers) + 1)):
        complain(f"rules are not numbered from R1 on without a gap: {numbers}")
    for number in map(int, re.findall(r"\bR(\d+)\b", text)):
        if number not in numbers:
            complain(f"the page refers to R{number}, which does not exist")
    owner = {}
    for number, messages in rules:
        for message in messages:
            if message in owner:
                complain(f"'{message}' stands under R{owner[message]} and R{number}")
            owner[message] = number
    code = code_messages()
    if not code:
        complain("no reasons found in src/image: the pattern of this test does not fit the code any more")
    for message, file in code.items():
        if message not in owner and message not in NOT_A_RULE:
            complain(f"{file} refuses with '{message}': no rule has it")
    for message in owner.keys() | NOT_A_RULE:
        if message not in code:
            complain(f"the message '{message}' is not in src/image")
    return len(numbers), len(owner)


# --- the map ---

def check_map():
    """The map, the decisions and the results name real functions; feed_*() stands for all that begin so."""
    code = "".join(path.read_text() for folder in ("src", "mkfs", "tools")
                   for path in sorted((ROOT / folder).rglob("*.[ch]")))
    pages = [path for folder in ("src", "mkfs", "tools") for path in sorted((ROOT / folder).rglob("README.md"))]
    seen = 0
    for page in pages + [ROOT / "tests/bench/RESULTS.md"]:
        names = set(re.findall(r"\b([a-z0-9]+_[a-z0-9_*]+)\(\)", page.read_text()))
        for name in sorted(names):
            if not re.search(r"\b" + name.replace("*", r"\w+") + r"\(", code):
                complain(f"{page.relative_to(ROOT)} names {name}(), which does not exist")
        seen += len(names)
    return seen


# --- the example ---

def example_blocks(text):
    """The blocks of literal lines, without roff's escapes."""
    section = text.partition("\n.SH EXAMPLE\n")[2].partition("\n.SH ")[0]
    blocks = re.findall(r"^\.nf\n\.ft CW\n(.*?)^\.ft\n", section, re.M | re.S)
    return [block.replace("\\-", "-").replace("\\e", "\\") for block in blocks]


def check_example(text):
    """True when it was packed again; owners in it are root's."""
    if os.geteuid() != 0 or not shutil.which("mkdatasetfs") or not shutil.which("datasetfsctl"):
        return False
    commands, *shown, dump = example_blocks(text)
    environment = {k: v for k, v in os.environ.items() if k != "SOURCE_DATE_EPOCH"}
    with tempfile.TemporaryDirectory() as folder:
        run = {"cwd": folder, "env": environment, "check": True, "stdout": subprocess.PIPE}
        subprocess.run(["sh", "-e", "-c", "umask 022\n" + commands], stderr=subprocess.DEVNULL, **run)
        volume = pathlib.Path(folder, "example.dsfs").read_bytes()
        found = subprocess.run(["datasetfsctl", "dump", "example.dsfs"], text=True, **run).stdout
    for line in "".join(shown).splitlines():
        offset, data = int(line[:8], 16), bytes.fromhex(line[8:])
        if volume[offset:offset + len(data)] != data:
            complain(f"example: at {line[:8]} are {volume[offset:offset + len(data)].hex(' ')}")
    if found != dump:
        complain(f"example: its dump is\n{found}")
    return True


# --- the files of a mount ---

def check_control():
    names = set(re.findall(r'^#define DSFS_CONTROL_\w+\s+"([^"]+)"', CONTROL.read_text(), re.M))
    if not names:
        complain("control.h has no names of the control folder any more: correct this test")
    files = CONTROL_PAGE.read_text().partition("\n.SH FILES\n")[2].partition("\n.SH ")[0]
    words = set(re.findall(r"\.?\w[\w.]*\w", files))
    for name in sorted(names):
        if name not in words and not any(word.endswith("/" + name) for word in files.split()):
            complain(f"control.h has '{name}', datasetfs-control.5 does not tell of it under FILES")
    return len(names)


def main():
    header, page = HEADER.read_text(), PAGE.read_text()
    structs, constants = header_structs(header), header_constants(header)
    features, tables = header_features(constants), page_tables(page)
    plain = {name: value for name, value in constants.items() if not is_feature(name)}
    compare("field", {".".join(k): v for k, v in structs.items()},
            {".".join(k): v for k, v in page_structs(tables).items()})
    compare("constant", plain, page_column(tables, ["Name", "Value", "Meaning"], 0, 1, number_or_text))
    compare("feature bit", features, page_column(tables, ["Word", "Bit", "Name", "Meaning"], 2, 1, int))
    rules, messages = check_rules(page)
    control, functions = check_control(), check_map()
    example = "the example as well" if check_example(page) else "the example was not packed: needs root and programs"
    for text in sorted(complaints):
        print(text if text.startswith("src/") else f"manual: {text}")
    if complaints:
        sys.exit(1)
    print(f"{len(structs)} fields, {len(plain)} constants, {len(features)} feature bits, {rules} rules, "
          f"{messages} messages, {control} names of the control folder and {functions} functions of the map agree; "
          f"{example}")


if __name__ == "__main__":
    main()
