# SPDX-License-Identifier: MIT
"""metrics.py METRICS STATS PAGE: every family of a mount has the values that stats.json has, nothing is left out, and
the manual page lists it. Requests for the two files themselves, and what time changes, may differ a little."""
import json
import re
import sys

sys.path.insert(0, sys.argv[4])
import exposition  # noqa: E402

MEMBER = {"member_reads_total": "reads", "member_read_bytes_total": "bytes", "member_read_errors_total": "errors",
          "member_reads_in_flight": "in_flight"}
HISTOGRAMS = {"read_duration_seconds": "read_latency_us", "device_read_duration_seconds": "device_latency_us"}
# These have checks of their own here or in metrics.sh.
OTHER = {"version_info", "version_files", "version_bytes", "version_outdated", "daemon_info", "uptime_seconds",
         "cpu_seconds_total", "open_versions", "lookups", "index_bytes", "block_checksum_bytes", "switch_pending",
         "requests_in_flight", "requests_total", "window_size", "window_reads_total", "volume_size_bytes",
         "volume_size_opened_bytes"}
OF_MEMBERS = {"member_info", "member_state", "member_latency_seconds", "member_read_duration_seconds",
              "protected_ratio", "one_copy_ratio", "degraded"}


def listed_fields(page):
    """Family → the field of stats.json that the manual page names beside it."""
    table = re.search(r"^\.I MNT/\.datasetfs/metrics$.*?^\.TE$", page, re.M | re.S)[0]
    rows = re.findall(r"^([a-z_]+)\t([a-z_]+)$", table, re.M)
    if len(rows) < 40:
        sys.exit(f"fail: only {len(rows)} rows of the manual page name a field")
    return dict(rows), set(re.findall(r"[a-z_]+", table))


def equal(what, found, expected):
    if found != expected:
        sys.exit(f"fail: {what}: found {found}, stats.json has {expected}")


def check_members(metrics, members):
    for member in members:
        label = f'member="{member["member"]}"'
        for family, field in MEMBER.items():
            equal(f"{family} of {label}", int(metrics.value(f"datasetfs_{family}{{{label}}}")), member[field])
        name = frozenset({("member", str(member["member"])), ("name", member["name"] or "")})
        equal(f"info of {label}", metrics.series[("datasetfs_member_info", name)], "1")
        for state in ("ok", "suspect", "missing"):
            found = metrics.value(f'datasetfs_member_state{{{label},state="{state}"}}')
            equal(f"{state} of {label}", found, str(int(member["state"] == state)))


def check_sizes(metrics, sizes):
    for one in sizes:
        for family, field in ("volume_size_bytes", "size"), ("volume_size_opened_bytes", "size_opened"):
            label = f'member="{one["member"]}"'
            equal(f"{family} of {label}", int(metrics.value(f"datasetfs_{family}{{{label}}}")), one[field])


def check_protection(metrics, protection):
    for family, field in ("protected_ratio", "protected_percent"), ("one_copy_ratio", "one_copy_percent"):
        equal(family, round(float(metrics.value(f"datasetfs_{family}")) * 100, 6), protection[field])
    equal("degraded", metrics.value("datasetfs_degraded"), str(int(protection["degraded"] is not None)))


def check_histogram(metrics, family, buckets):
    """Bucket n has what took less than 2^n microseconds, the last one everything."""
    total = 0
    for number, count in enumerate(buckets):
        total += count
        bound = f"{2 ** number / 1e6:.6f}" if number < len(buckets) - 1 else "+Inf"
        equal(f"{family} up to {bound}", int(metrics.value(f'datasetfs_{family}_bucket{{le="{bound}"}}')), total)
    equal(f"{family}_count", int(metrics.value(f"datasetfs_{family}_count")), total)
    most = sum(count * 2 ** number for number, count in enumerate(buckets[:-1])) / 1e6
    least = sum(count * 2 ** (number - 1) for number, count in enumerate(buckets) if number) / 1e6
    found = float(metrics.value(f"datasetfs_{family}_sum"))
    if found < least or (found > most and not buckets[-1]):
        sys.exit(f"fail: {family}_sum: {found}, by the buckets it is {least} to {most}")


def check_own(metrics, stats):
    """What reading the two files itself changes: two requests of each kind at most, and the FORGETs of what was read
    before, which the kernel sends when it likes."""
    generations = stats["generations"]
    equal("open_versions", int(metrics.value("datasetfs_open_versions")), len(generations))
    for family, field in (("index_bytes", "index_bytes"), ("block_checksum_bytes", "block_checksum_bytes"),
                          ("lookups", "lookups")):
        equal(family, int(metrics.value(f"datasetfs_{family}")), sum(one[field] for one in generations))
    for operation, count in stats["requests"].items():
        key = ("datasetfs_requests_total", frozenset({("operation", operation)}))
        found = int(metrics.series.get(key, "0"))
        least = 0 if operation.endswith("FORGET") else count - 2
        if not least <= found <= count:
            sys.exit(f"fail: {operation}: {found} requests, stats.json has {count} a moment later")
    for reason in ("removed", "moved", "reformatted"):
        found = metrics.value(f'datasetfs_version_outdated{{reason="{reason}"}}')
        equal(f"outdated, {reason}", found, str(int(stats["outdated"] == reason)))
    labels = frozenset((name, stats[name]) for name in ("release", "channel", "io"))
    equal("daemon_info", metrics.series[("datasetfs_daemon_info", labels)], "1")
    if not 0 <= stats["uptime_seconds"] - float(metrics.value("datasetfs_uptime_seconds")) < 60:
        sys.exit("fail: uptime_seconds")
    if not 0 < float(metrics.value("datasetfs_cpu_seconds_total")) < 1000:
        sys.exit("fail: cpu_seconds_total")


def main():
    metrics, page = exposition.load(sys.argv[1]), open(sys.argv[3]).read()
    with open(sys.argv[2]) as file:
        stats = json.load(file)
    fields, words = listed_fields(page)
    for family in OTHER | set(MEMBER) | OF_MEMBERS | set(HISTOGRAMS):
        fields.pop(family, None)
    families = set(fields) | set(HISTOGRAMS) | OTHER
    if stats["members"]:
        families |= set(MEMBER) | OF_MEMBERS
    found = {name.removeprefix("datasetfs_") for name in metrics.families}
    if found != families:
        sys.exit(f"fail: families: unknown {found - families}, missing {families - found}")
    for family, field in fields.items():
        equal(family, float(metrics.value(f"datasetfs_{family}")), stats[field])
    for family, field in HISTOGRAMS.items():
        check_histogram(metrics, family, stats[field])
    check_own(metrics, stats)
    check_sizes(metrics, stats["sizes"])
    if stats["members"]:
        check_members(metrics, stats["members"])
        check_protection(metrics, stats["protection"])
    if families - words:
        sys.exit(f"fail: the manual page does not list {', '.join(sorted(families - words))}")


main()
