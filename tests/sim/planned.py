#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What 'datasetfsctl plan' computes, within 5 % of what the benchmark measured on devices with a limit
(tests/bench/RESULTS.md) and of simulated clusters whose members, ports or readers are the limit, with caches and
without: what they read, how long filling takes, and what it writes."""
import json
import os
import re
import subprocess
import sys

SIM = os.path.join(os.environ["DATASETFS_BUILD"], "tests/sim/sim")
RESULTS = os.path.join(os.environ["DATASETFS_SOURCE"], "tests/bench/RESULTS.md")
FAR = 0.05
ENDLESS = "1000TB"
LARGER = 8
failures = 0


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode or done.stderr:
        sys.exit(f"fail: {' '.join(words)}: status {done.returncode}, {done.stderr}")
    return done.stdout


def pack(name, size, files=64):
    os.mkdir(name)
    for number in range(files):
        with open(f"{name}/{number}", "wb") as file:
            file.write(os.urandom(size))
    run("mkdatasetfs", "--progress", "none", f"{name}.vol", name)


def plan_all(volume, **options):
    """What is not given limits nothing."""
    options = {"workers": 1, "gpus": 1, "rate": 1, "port": ENDLESS, "nic": ENDLESS, "readers": 1000000,
               "cpu_time": 0.01, "cpus": 100000} | options
    words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    return json.loads(run("datasetfsctl", "plan", "--json", *words, volume))


def plan(volume, condition="cold", **options):
    """Files a second, and what limits them."""
    found = plan_all(volume, **options)[condition]
    return found["files_per_s"], found["first"]


def sim(*switches, **options):
    words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    return json.loads(run(SIM, "--json", *[f"--{name}" for name in switches], *words))


def check(what, found, planned, limit):
    global failures
    files, first = planned
    good = abs(files / found - 1) <= FAR and first == limit
    failures += not good
    print(f"{'    ' if good else 'FAIL'} {what}: {found:,.0f} files/s, planned {files:,.0f} ({files / found:.3f}), "
          f"limited by {first}, expected {limit}", flush=True)


def near(what, found, planned):
    """The same of a figure that nothing limits."""
    global failures
    good = abs(planned / found - 1) <= FAR
    failures += not good
    print(f"{'    ' if good else 'FAIL'} {what}: {found:,.4g}, planned {planned:,.4g} ({planned / found:.3f})",
          flush=True)


def capped(text):
    """The rows of one device, of 10,000 and 2,500 reads a second, but for an epoch of one process, which waits for the
    process as well, and for walks, which need less than a read a file."""
    table = text.partition("\n| 10,000 reads/s, 16 threads, names known")[1:]
    table = "".join(table).partition("\n| `find")[0]
    rows = [(what, 10000, found) for what, *both in
            re.findall(r"^\| ([^|]+) \| ([\d,]+) \| ([\d,]+) \|", table, re.M) for found in both]
    rows += [(what, 2500, found) for what, found in
             re.findall(r"^\| (files/s at 2,500 reads/s, 4 workers) \| ([\d,]+) \|", text, re.M)]
    if len(rows) != 13:
        sys.exit(f"fail: {len(rows)} rows of one device in {RESULTS}, expected 13: {rows}")
    for what, cap, found in rows:
        check(what, float(found.replace(",", "")), plan("small.vol", device=f"{cap},{ENDLESS}"), "members")


def measured():
    """The rows of the table of volumes with several members, but for that which two CPUs limit."""
    with open(RESULTS, encoding="utf-8") as file:
        text = file.read()
    rows = re.findall(r"^\| `((?:members|mirror)-(\d+)(-lost)?)` \| [\d,]+ \| ([\d,]+) \(.*?\| ([\d,]+) \(", text, re.M)
    if len(rows) != 7:
        sys.exit(f"fail: {len(rows)} rows in {RESULTS}, expected 7: {rows}")
    for name, members, lost, dev, ring in rows:
        more = {"protect": "mirror:2"} if name.startswith("mirror") else {}
        planned = plan("small.vol", "cold_lost" if lost else "cold", members=members, device=f"2500,{ENDLESS}", **more)
        for way, found in (("/dev/fuse", dev), ("io_uring", ring)):
            check(f"{name}, {way}", float(found.replace(",", "")), planned, "members")
    capped(text)
    # The two runs of members-4-10k on two busy CPUs of which the CPU time a file is known.
    for time, found in ((65.5, 30373), (57.2, 34871)):
        check(f"members-4-10k at {time} us of CPU a file", found,
              plan("small.vol", members=4, device=f"10000,{ENDLESS}", cpus=2, cpu_time=time), "cpus")


def simulated():
    device = f"160000,{ENDLESS}"  # 16 reads at a time of 100 us
    check("200 workers, 12 members", sim(workers=200, members=12, threads=64)["files_per_s"],
          plan("small.vol", workers=200, members=12, device=device), "members")
    found = sim(workers=100, members=8, threads=16, bytes=114688, port=1250, bandwidth=6000)
    check("100 workers, 8 ports of 10 Gbit, files of 112 KiB", found["files_per_s"],
          plan("large.vol", workers=100, members=8, device="160000,96GB", port="10Gbit"), "ports")
    check("20 workers with 4 readers, 12 members", sim(workers=20, members=12, threads=4)["files_per_s"],
          plan("small.vol", workers=20, members=12, device=device, readers=4, latency=100), "readers")


def cached(what, limit, switches=(), told=None, **options):
    """Workers with caches that are full at last: what they read then, how long filling takes, and what is written.
    `told`: what the plan is told of the cluster beside that. The simulation has LARGER times the files, as a slot is to
    be a small part of a cache."""
    told = {"rate": 1000000, "cache_device": f"1000000,{ENDLESS}", "cache_write": ENDLESS, "reads": options["reads"],
            "workers": options["workers"], "members": options["members"],
            "device": f"{options['cap']},{ENDLESS}"} | told
    found = sim(*switches, files=512 * LARGER, bytes=256 << 10, burst=10, **options)
    planned = plan_all("wide.vol", **told)
    check(what, found["files_per_s"], (planned["warm"]["files_per_s"], planned["warm"]["first"]), limit)
    near(f"{what}: hits", found["hits"], planned["warm"]["hits"])
    if "tier-full" in switches:
        return
    near(f"{what}: seconds until they are full", found["fill_s"] / LARGER, planned["cache_fill_s"])
    near(f"{what}: bytes written by each", found["written_bytes"] / options["workers"] / LARGER,
         planned["cache_fill_bytes"])


def caches():
    half = {"cache": "64M"}
    cluster = {"members": 2, "threads": 32, "cap": 1000, "tier": 50}
    late = {"from": 48000, "to": 64000}
    cached("20 workers that read all, caches of half", "members", told=half, workers=20, reads="all", **cluster, **late)
    cached("8 workers that read shards, caches of half", "members", told=half, workers=8, reads="shard", **cluster,
           **late)
    cached("8 workers that read a fixed part, caches of half of it", "members", told={"cache": "7864320"}, workers=8,
           reads="fixed", **cluster | {"tier": 6}, **late)
    cached("5 workers, caches of all but a tenth on drives that take 10 MB/s", "members",
           told={"cache": "115M", "cache_write": "10MB"}, workers=5, reads="all", **cluster | {"tier": 90, "cap": 250},
           tier_writes=10, **{"from": 130000, "to": 150000})
    cached("4 workers, full caches on drives of 500 reads/s", "members", ("tier-full",),
           {"cache": "128M", "cache_device": f"500,{ENDLESS}"}, workers=4, reads="all", **cluster | {"tier": 100},
           tier_cap=500, **{"from": 4000, "to": 14000})
    cached("4 workers with 4 readers, full caches", "readers", ("tier-full",),
           {"cache": "128M", "readers": 4, "latency": 100}, workers=4, reads="all",
           **cluster | {"tier": 100, "threads": 4}, **{"from": 100, "to": 1100})
    # Where accelerators are the limit, a worker meets its last files late.
    found = sim(workers=8, members=2, threads=32, think=320_000_000, tier=50, reads="shard", files=512 * LARGER,
                bytes=256 << 10, **{"from": 500, "to": 40000})
    planned = plan_all("wide.vol", workers=8, members=2, rate=100, reads="shard", cache="64M",
                       device=f"1000000,{ENDLESS}", cache_device=f"1000000,{ENDLESS}", cache_write=ENDLESS)
    near("8 workers that take 100 files/s of shards: seconds until their caches are full", found["fill_s"] / LARGER,
         planned["cache_fill_s"])


pack("small", 8192)
pack("large", 114688)
pack("wide", 256 << 10, 512)
measured()
simulated()
caches()
sys.exit(f"fail: {failures} plans are wrong" if failures else 0)
