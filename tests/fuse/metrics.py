# SPDX-License-Identifier: MIT
"""metrics.py METRICS STATS PAGE: every family of a mount has the values that stats.json has, nothing is left out, and
the manual page lists it. Requests for the two files themselves, and what time changes, may differ a little."""
import json
import re
import sys

sys.path.insert(0, sys.argv[4])
import exposition  # noqa: E402

# Family → the field of stats.json; a prefix of it where a number is one of several.
EQUAL = {
    "workers": "workers", "buffer_limit_bytes": "buffer_budget", "switches_total": "switches",
    "version_loads_total": "loads", "request_errors_total": "errors", "interrupted_reads_total": "interrupted",
    "served_files_total": "files_served", "served_bytes_total": "bytes_served",
    "stored_bytes_total": "bytes_stored", "read_failures_total": "read_failures",
    "checksum_failures_total": "checksum_failures", "device_reads_total": "device_reads",
    "device_read_bytes_total": "device_bytes", "device_read_errors_total": "device_errors",
    "device_read_retries_total": "retries", "chunk_cache_hits_total": "cache_hits",
    "block_checksum_reads_total": "block_checksum_reads", "block_checksum_hits_total": "block_checksum_hits",
    "block_checksum_fallbacks_total": "block_checksum_fallbacks", "readahead_files_total": "ahead_files",
    "readahead_bytes_total": "ahead_bytes", "readahead_device_reads_total": "ahead_device_reads",
    "readahead_stored_files_total": "ahead_stored", "readahead_served_reads_total": "ahead_served",
    "readahead_dropped_files_total": "ahead_dropped", "readahead_failures_total": "ahead_failures",
    "prefetch_announced_files_total": "prefetch_announced", "prefetch_files_total": "prefetch_files",
    "prefetch_bytes_total": "prefetch_bytes", "prefetch_device_reads_total": "prefetch_reads",
    "prefetch_stored_files_total": "prefetch_stored", "prefetch_served_reads_total": "prefetch_served",
    "prefetch_dropped_files_total": "prefetch_dropped", "prefetch_failures_total": "prefetch_failures",
    "stall_start_time_seconds": "stalled_since", "stalls_total": "stalls",
    "last_read_failure_time_seconds": "last_failure", "last_error_time_seconds": "last_error",
    "version_outdated_end_time_seconds": "outdated_until",
    "longest_stall_seconds": "longest_stall_seconds", "damaged_places": "damaged", "clients": "clients",
    "client_versions_opened_total": "client_opened", "client_refusals_total": "client_refused",
    "client_drops_total": "client_dropped", "client_files_total": "client_files", "client_bytes_total": "client_bytes",
    "client_checksum_failures_total": "client_checksum_failures", "client_device_errors_total": "client_device_errors",
    "client_read_failures_total": "client_read_failures",
}
MEMBER = {"member_reads_total": "reads", "member_read_bytes_total": "bytes", "member_read_errors_total": "errors",
          "member_reads_in_flight": "in_flight"}
HISTOGRAMS = {"read_duration_seconds": "read_latency_us", "device_read_duration_seconds": "device_latency_us"}
# These have checks of their own here or in metrics.sh.
OTHER = {"version_info", "version_files", "version_bytes", "version_outdated", "daemon_info", "uptime_seconds",
         "cpu_seconds_total", "open_versions", "lookups", "index_bytes", "block_checksum_bytes", "switch_pending",
         "requests_in_flight", "requests_total"}
OF_MEMBERS = {"member_info", "member_state", "member_latency_seconds", "protected_ratio", "one_copy_ratio", "degraded"}


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
    """What reading the two files itself changes: two requests of each kind at most."""
    generations = stats["generations"]
    equal("open_versions", int(metrics.value("datasetfs_open_versions")), len(generations))
    for family, field in (("index_bytes", "index_bytes"), ("block_checksum_bytes", "block_checksum_bytes"),
                          ("lookups", "lookups")):
        equal(family, int(metrics.value(f"datasetfs_{family}")), sum(one[field] for one in generations))
    for operation, count in stats["requests"].items():
        key = ("datasetfs_requests_total", frozenset({("operation", operation)}))
        found = int(metrics.series.get(key, "0"))
        if not count - 2 <= found <= count:
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
    families = set(EQUAL) | set(HISTOGRAMS) | OTHER
    if stats["members"]:
        families |= set(MEMBER) | OF_MEMBERS
    found = {name.removeprefix("datasetfs_") for name in metrics.families}
    if found != families:
        sys.exit(f"fail: families: unknown {found - families}, missing {families - found}")
    for family, field in EQUAL.items():
        equal(family, float(metrics.value(f"datasetfs_{family}")), stats[field])
    for family, field in HISTOGRAMS.items():
        check_histogram(metrics, family, stats[field])
    check_own(metrics, stats)
    if stats["members"]:
        check_members(metrics, stats["members"])
        check_protection(metrics, stats["protection"])
    listed = re.search(r"^\.I MNT/\.datasetfs/metrics$.*?^\.TE$", page, re.M | re.S)[0]
    words = set(re.findall(r"[a-z_]+", listed))
    if families - words:
        sys.exit(f"fail: the manual page does not list {', '.join(sorted(families - words))}")


main()
