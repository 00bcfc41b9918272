#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: smoke plain once
"""What tests/bench/chart draws is right and readable; README.md and RESULTS.md show what it makes of the results."""
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(os.environ["DATASETFS_SOURCE"])
RESULTS = ROOT / "tests/bench/results"
SVG = "{http://www.w3.org/2000/svg}"


def chart(*words, status=0):
    done = subprocess.run([ROOT / "tests/bench/chart", *words], capture_output=True, text=True, check=False)
    if done.returncode != status:
        sys.exit(f"fail: chart {' '.join(map(str, words))}: exit {done.returncode}, not {status}: {done.stderr}")
    return done.stdout if status == 0 else done.stderr


def check(what, right):
    if not right:
        sys.exit(f"fail: {what}")


def row(name, lower=False, cap=None, **values):
    """A row of results as tests/bench/run writes it: contestant → the values of its rounds."""
    return {"name": name, "title": f"title of {name}", "lower_is_better": lower, "cap": cap, "tree": {"files": 12345},
            "contestants": {who.replace("_", "."): {"runs": [{"value": value} for value in rounds]}
                            for who, rounds in values.items()}}


def made_up(*rows):
    """A file with results of a machine that does not exist."""
    machine = {"kernel": "9.9", "cpus": 3, "cpu_model": "A < B & C", "memory_gib": 7.6, "load_average": [0.04, 0, 0],
               "time": "2001-02-03T04:05:06Z"}
    file = pathlib.Path("made-up.json")
    settings = {"rounds": 3, "scale": 0.5, "seconds": 4}
    file.write_text(json.dumps({"machine": machine, "settings": settings, "rows": rows}))
    return file


README_ROWS = "capped-8k-64-unknown,imagefolder-110k,tar-8k,pack-8k,cpu-8k-32"


def check_committed():
    """The chart and the tables are those of the results in the repository."""
    file, drawn, readme = RESULTS / "README.json", RESULTS / "README.svg", (ROOT / "README.md").read_text()
    check("README.svg is not what README.json says, see tests/bench/README.md", drawn.read_text() == chart(file))
    check_picture(drawn.read_text())
    check("README.md does not show the chart", f"({drawn.relative_to(ROOT)})" in readme)
    table = chart("--table", "--brief", "--rows", README_ROWS, file)
    check(f"README.md has not the table of the results:\n{table}", f"\n\n{table}\n" in readme)
    results = (ROOT / "tests/bench/RESULTS.md").read_text()
    for words in ([file], ["--library", RESULTS / "library.json"]):
        table = chart("--table", *words)
        check(f"RESULTS.md has not the table:\n{table}", f"\n\n{table}\n" in results)


def check_picture(text):
    """Well-formed, described, with nothing that runs or is fetched, and no text beyond its edges."""
    top = xml.etree.ElementTree.fromstring(text)
    tags = {element.tag.removeprefix(SVG) for element in top.iter()}
    check(f"the picture has {tags}", tags <= {"svg", "title", "desc", "style", "rect", "path", "circle", "text"})
    check("something is fetched", not re.search(r"href|url\(|@import|\bon\w+=", text))
    check("no title or description", top.find(f"{SVG}title").text and top.find(f"{SVG}desc").text)
    for element in top.iter(f"{SVG}text"):
        classes = element.get("class").split()
        length = len(element.text) * (10 if "title" in classes else 7)  # wider than letters of these sizes are
        begin = float(element.get("x")) - length * ("end" in classes or "middle" in classes and 0.5)
        check(f"'{element.text}' may not fit in", begin >= 0 and begin + length <= float(top.get("width")))


def check_figures():
    """Ratios of made-up rounds, then their median; times are turned over; the best row comes first."""
    slow = row("slow", dev=[10, 20, 30], ring=[20, 40, 60], erofs=[20, 80, 50], xfs=[10, 20, 30])
    fast = row("pack-4k", lower=True, mkdatasetfs=[2, 2, 2], mkfs_erofs=[25, 24, 26], mksquashfs=[6, 5, 1])
    file = made_up(slow, fast)
    lines = chart("--table", file).splitlines()
    check(f"the head is {lines[0]}", lines[0].endswith("| EROFS | XFS | SquashFS |"))
    check(f"the first row is {lines[2]}", lines[2].startswith("| Packing: 12,345 files"))
    check(f"the first row is {lines[2]}", lines[2].endswith("| **12** | – | **2.5** |"))
    check(f"the second row is {lines[3]}",
          lines[3] == "| slow: 12,345 files; title of slow (`slow`) | 0.50 / 1.00 | 1.00 / **2.0** | – |")
    check("not one row of two", len(chart("--table", "--rows", "slow", file).splitlines()) == 3)
    brief = chart("--table", "--brief", "--rows", "slow", file).splitlines()[2]
    check(f"the brief row is {brief}", brief == "| slow | 0.50 | 1.00 |")
    named = chart("--table", "--rows", "slow,pack-4k", file).splitlines()
    check(f"named rows are in another order: {named}", named[2].startswith("| slow"))
    chart("--brief", file, status=2)

    check_picture(chart(file))
    drawn = xml.etree.ElementTree.fromstring(chart("--rows", "slow", file))
    described = drawn.find(f"{SVG}desc").text
    for words in ("EROFS 0.50 (/dev/fuse), 1.00 (io_uring); XFS 1.00", "A < B & C", "load 0.0", "2001-02-03"):
        check(f"no '{words}' in the description: {described}", words in described)
    # From 1/4 (20 of 80) to 2 (40 of 20) lie 552 points: 0.5 at a third, 0.6 at 42 %. Two marks are in the head.
    marks = [(float(mark.get("cx")), float(mark.get("cy"))) for mark in drawn.iter(f"{SVG}circle")][2:]
    check(f"the marks lie at {marks}", [x for x, _ in marks] == [312, 496])
    spread = [path.get("d") for path in drawn.iter(f"{SVG}path") if path.get("class") == "dev spread"]
    check(f"the spreads are {spread}", re.fullmatch(r"M128\.0 \S+L360\.4 \S+", spread[0]))


def check_layouts():
    """EROFS is the faster of its layouts, and the picture says so where both were measured."""
    note = "in each row the faster of its two layouts"
    one = row("a", dev=[30, 30], erofs=[10, 10])
    check("one layout of EROFS was measured, not two", note not in chart(made_up(one)))
    file = made_up(row("a", dev=[30, 30], erofs=[10, 10], **{"erofs-noinline": [20, 20]}))
    check("both layouts of EROFS were measured", note in chart(file))
    check("not the faster layout of EROFS", chart("--table", file).splitlines()[2].endswith("| **1.50** |"))


def check_library():
    """The library, and programs that it is preloaded into, beside the best of a rival's variants."""
    file = made_up(row("a", lib=[30, 30], dev=[1, 1], fio=[40, 40], **{"erofs-8": [10, 10], "erofs-16": [15, 15]}))
    lines = chart("--table", "--library", file).splitlines()
    check(f"the head is {lines[0]}", lines[0] == "| libdatasetfs, relative to | EROFS | device (fio) |")
    check(f"the row is {lines[2]}", lines[2].endswith("| **2.0** | 0.75 |"))
    chart("--library", file, status=2)
    chart("--library", "--run", "--table", file, status=2)
    file = made_up(row("a", run=[30, 30], **{"run-compat": [50, 50]}, lib=[1, 1], erofs=[15, 15], fio=[40, 40]))
    lines = chart("--table", "--run", file).splitlines()
    check(f"the head is {lines[0]}", lines[0] == "| datasetfs-run, relative to | EROFS | device (fio) |")
    check(f"the row is {lines[2]}", lines[2].endswith("| **2.0** | 0.75 |"))


def check_refusals():
    some = {"dev": [1], "erofs": [1]}
    many = [row(f"row{number}", **some) for number in range(7)]
    check("seven rows", "7 rows: 1 to 6" in chart(made_up(*many), status=1))
    check("six rows", chart(made_up(*many[1:])))
    check("a row that is not there", "no row 'x'" in chart("--rows", "x", made_up(row("y", **some)), status=1))
    check("no rival", "y: datasetfs and a rival" in chart(made_up(row("y", dev=[1])), status=1))
    check("only rivals", "y: datasetfs and a rival" in chart(made_up(row("y", erofs=[1], xfs=[1])), status=1))
    check("rounds that differ", "y: not as many rounds" in chart(made_up(row("y", dev=[1, 2], erofs=[1])), status=1))
    check("no JSON", "fail: " in chart(ROOT / "README.md", status=1))
    check("no rows", "the results have no 'rows'" in chart(empty(), status=1))
    chart(status=2)


def empty():
    file = pathlib.Path("empty.json")
    file.write_text("{}")
    return file


check_figures()
check_layouts()
check_library()
check_refusals()
check_committed()
