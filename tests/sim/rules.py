#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What src/read/route.c and src/io/window.c make of many workers and many members, in the simulation: the load is even,
and a member that is slow, hangs, fails or stalls costs little, with 200 and with 1,000 workers; one that is well again
is used again. Workers share what there is, whatever their threads; the background gives way; late reads are made again,
but few of them."""
import os

from simulation import MEMBER, check, end, sim

SHORT = os.environ.get("DATASETFS_SANITIZER")
FULL = os.environ.get("DATASETFS_FULL") == "1"
CLUSTER = {"members": 12, "copies": 2, "threads": 0, "load": 50, "to": 600, "from": 300}
CAPACITY = 12 * MEMBER


def one_of_several(workers, healthy):
    """A fault that begins at 200 ms; what is counted begins two seconds later."""
    late = {**CLUSTER, "workers": workers, "fault_from": 200, "from": 2200, "to": 2400}
    for fault in ("slow", "hang", "fail"):
        found = sim(fault=fault, **late)
        name = f"{workers} workers, one of 12 members, {fault}"
        check(f"{name}: files/s, of healthy", found["files_per_s"] / healthy["files_per_s"], 0.98, 1.02)
        check(f"{name}: p99, of healthy", found["p99_us"] / healthy["p99_us"], 0, 3)
        check(f"{name}: reads over 2 ms", found["over_2ms"], 0, 0.002)
        check(f"{name}: reads beside one for each file", found["extra"], 0, 0.01)
        check(f"{name}: errors and reads that are stuck", found["errors"] + found["stuck"], 0, 0)
        check(f"{name}: busiest of the others", found["busiest"], 1, 1.6)


def well_again(workers):
    late = {**CLUSTER, "workers": workers, "fault_from": 200, "fault_to": 1200, "from": 2300, "to": 2500}
    for fault in ("slow", "hang", "fail"):
        reads = sim(fault=fault, **late)["reads"]
        check(f"{workers} workers, well again after {fault}: share, of equal", reads[0] * 12 / sum(reads), 0.8, 1.1)


def faults(workers):
    healthy = sim(workers=workers, **CLUSTER)
    check(f"{workers} workers: p99 in us", healthy["p99_us"], 100, 400)
    check(f"{workers} workers: busiest member", healthy["busiest"], 1, 1.05)
    check(f"{workers} workers: idlest member", healthy["idlest"], 0.95, 1)
    # A worker that chooses by nothing but speed chooses the member that all others choose.
    herd = sim(**{**CLUSTER, "workers": workers, "load": 90})
    check(f"{workers} workers, load 90 %: p99, of load 50 %", herd["p99_us"] / healthy["p99_us"], 1, 2)
    one_of_several(workers, healthy)
    well_again(workers)
    stalls = sim(fault="stalls", **{**CLUSTER, "workers": workers})
    check(f"{workers} workers, stalls of 20 ms: reads over 2 ms", stalls["over_2ms"], 0.001,
          0.04 if workers == 200 else 0.08)


def caps():
    """One worker, as in the benchmark's rows members-N: what N devices give, and what is left when one hangs."""
    for members in (1, 2, 4, 8):
        found = sim(members=members, threads=64, cap=2500, **{"from": 1000, "to": 4000})
        check(f"{members} members of 2,500 reads/s: files/s, of all", found["files_per_s"] / members / 2500, 0.95, 1.01)
    for members, copies in ((2, 2), (4, 2), (4, 3)):
        found = sim(members=members, copies=copies, threads=64, cap=2500, fault="hang", fault_from=500,
                    **{"from": 2500, "to": 4500})
        check(f"{members} members, {copies} copies, one hangs: files/s, of the others",
              found["files_per_s"] / (members - 1) / 2500, 0.95, 1.01)


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


def itself():
    """The simulation can show what is bad, and shows the same again."""
    once, again = (sim(workers=50, **CLUSTER) for _ in range(2))
    check("the same seed gives the same", once == again, True, True)
    check("another seed gives the same", once == sim(workers=50, seed=2, **CLUSTER), False, False)
    alone = {**CLUSTER, "copies": 1, "workers": 200, "from": 1300, "to": 1500}
    slow = sim(fault="slow", **alone)
    check("a slow member without copies: p99 in us", slow["p99_us"], 10000, 1e9)
    check("a member that hangs without copies: stuck", sim(fault="hang", **alone)["stuck"], 1000, 1e9)
    check("a member that fails without copies: errors", sim(fault="fail", **alone)["errors"], 1000, 1e9)


itself()
caps()
alone()
background()
for count in (200,) if SHORT else (200, 1000):
    faults(count)
    if count == 200 or FULL:
        shares(count)
        late(count)
end()
