#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What src/read/route.c makes of many workers and many members, in the simulation: the load is even, and a member that
is slow, hangs, fails or stalls costs little, with 200 and with 1,000 workers; one that is well again is used again."""
import os

from simulation import CLUSTER, check, end, sim

SHORT = os.environ.get("DATASETFS_SANITIZER")
FULL = os.environ.get("DATASETFS_FULL") == "1"


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
    if workers == 200 or FULL:
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
for count in (200, 1000) if FULL and not SHORT else (200,):
    faults(count)
end()
