#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What src/io/window.c makes of many workers and members, in the simulation: workers share what there is, whatever
their threads; the background gives way; late reads are made again, but few of them."""
import os

from simulation import CLUSTER, MEMBER, check, end, sim

SHORT = os.environ.get("DATASETFS_SANITIZER")
FULL = os.environ.get("DATASETFS_FULL") == "1"
CAPACITY = 12 * MEMBER


def shares(workers):
    """A tenth of the workers has 8 times the threads, and all want more than the members can do."""
    greedy = {"workers": workers, "members": 12, "threads": 8, "heavy": 10, "from": 1500, "to": 1700}
    without, found = sim(**greedy), sim("windows", **greedy)
    name = f"{workers} workers, a tenth with 8 times the threads"
    check(f"{name}: Jain's index without windows", without["jain"], 0, 0.5)
    check(f"{name}: Jain's index", found["jain"], 0.97, 1)
    check(f"{name}: files/s, of all that members can do", found["files_per_s"] / CAPACITY, 0.96, 1.01)
    check(f"{name}: p99 of the others, of that without windows", found["light"]["p99_us"] / without["light"]["p99_us"],
          0, 0.6 if workers == 200 else 0.9)


def alone():
    found = sim("windows", members=12, threads=1024, **{"from": 1000, "to": 1200})
    check("a worker alone with a window: files/s, of all that members can do", found["files_per_s"] / CAPACITY, 0.95, 1)


def background():
    load = {"workers": 100, "members": 12, "threads": 0, "load": 52, "from": 300, "to": 600}
    without, found = sim("windows", **load), sim("windows", background=20, **load)
    check("background: p99 of demand, of that without", found["light"]["p99_us"] / without["light"]["p99_us"], 0, 1.2)
    check("background: demand, of that without", found["files_per_s"] / without["files_per_s"], 0.98, 1.02)
    rest = CAPACITY - found["files_per_s"]
    check("background: its part of the rest", found["background_per_s"] / rest, 0.5, 1)


def late(workers):
    load = {**CLUSTER, "workers": workers}
    rare = {"fault": "stalls", "every": 1000, "from": 900, "to": 1900}
    found = sim("hedges", "windows", **load)
    check(f"{workers} workers, hedges: p99.9, of p50", found["p999_us"] / found["p50_us"], 1, 5)
    check(f"{workers} workers, hedges: extra reads", found["extra"], 0, 0.02)
    found = sim("hedges", "windows", **{**load, **rare})
    check(f"{workers} workers, hedges, a stall of 20 ms each second: p99.9, of p50", found["p999_us"] / found["p50_us"],
          1, 15)
    check(f"{workers} workers, hedges, a stall of 20 ms each second: extra reads", found["extra"], 0, 0.02)
    always = {**load, "fault": "stalls"}
    without, found = sim(**always), sim("hedges", "windows", **always)
    check(f"{workers} workers, one stalls at any time: files/s, of those without windows",
          found["files_per_s"] / without["files_per_s"], 0.98, 1.02)
    check(f"{workers} workers, one stalls at any time: reads over 2 ms, of those without windows and hedges",
          found["over_2ms"] / without["over_2ms"], 0, 1.02)
    check(f"{workers} workers, one stalls at any time, hedges: extra reads", found["extra"], 0, 0.02)
    over = {**load, "load": 102}
    without, found = sim("windows", **over), sim("windows", "hedges", **over)
    check(f"{workers} workers, load 102 %, hedges: p99, of that without", found["p99_us"] / without["p99_us"], 0, 1.1)


alone()
background()
for count in (200, 1000) if FULL and not SHORT else (200,):
    shares(count)
    late(count)
end()
