#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain alone channels
# What a cold read costs: one device read and at most two requests for a small file; one READ for a file of a megabyte.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_loop

mkdir source source/dir
for i in {100..199}; do head -c $((2000 + i * 37)) /dev/urandom >source/dir/$i; done
head -c 100000 /dev/urandom >source/middle
head -c 1000000 /dev/urandom >source/large
for i in {1..50}; do echo "$i"; done >source/tiny
truncate -s 64M image
loop_device image --direct-io=on
pack "$LOOP" source
cat >measure.py <<'END'
"""What reading some files costs: device reads (by the kernel's own count) and FUSE requests, per file."""
import json, os, sys
mount, device, names = sys.argv[1], sys.argv[2], sys.argv[3:]

def counters():
    stats = json.load(open(f"{mount}/.datasetfs/stats.json"))
    return int(open(f"/sys/block/{device}/stat").read().split()[0]), stats

def requests(stats, *names):
    lower = {name.lower(): count for name, count in stats["requests"].items()}
    return sum(lower.get(name, 0) for name in names)

def total(stats):
    return stats["requests_total"]

counters()
device_0, empty_0 = counters()
device_1, before = counters()
own = total(before) - total(empty_0)  # what looking at the counters costs
for name in names:
    fd = os.open(f"{mount}/{name}", os.O_RDONLY)
    size = os.fstat(fd).st_size
    while os.read(fd, 1 << 20):
        pass
    os.close(fd)
device_2, after = counters()
cost = {"files": len(names), "device": device_2 - device_1, "requests": total(after) - total(before) - own,
        "lookups": requests(after, "lookup") - requests(before, "lookup"),
        "reads": requests(after, "read") - requests(before, "read"),
        "counted": after["device_reads"] - before["device_reads"], "own": own}
print(json.dumps(cost))
END

# cost NAMES…: in cost.json
cost() {
    drop_caches
    mount_volume "$LOOP" mnt
    ls mnt/dir/100 >/dev/null # the folder is known, the files are not
    python3 measure.py mnt "${LOOP#/dev/}" "$@" >cost.json || fail "cannot measure"
    cat cost.json
    unmount mnt
}

# between WHAT LEAST MOST
between() {
    local found
    found=$(json "$1" cost.json)
    [ "$found" -ge "$2" ] && [ "$found" -le "$3" ] || fail "$1: $found, expected $2 to $3"
}

names=()
for i in {101..199}; do names+=("dir/$i"); done
cost "${names[@]}"
between device 1 99
between counted 1 99
# Looking at the counters costs a few that vary.
between requests 99 201
between lookups 99 102
between reads 99 100

cost middle
between device 1 1
between counted 1 1
between lookups 1 3
between reads 1 2

cost large
between counted 1 2
between reads 1 3

# A file of a few bytes comes out of the index.
cost tiny
between device 0 1
