# SPDX-License-Identifier: MIT
"""The table: medians, spreads, ratios, what each figure cost, and whether the targets are met."""
import statistics

import volumes

COLUMNS = (("median", "{:>9}"), ("min–max", "{:>17}"), ("× rival", "{:>8}"), ("× fio", "{:>6}"),
           ("reads/file", "{:>10}"), ("requests/file", "{:>13}"), ("CPU µs/file", "{:>11}"), ("own CPU", "{:>7}"),
           ("p50 µs", "{:>8}"), ("p99 µs", "{:>8}"))


METRICS = {"p50": ("latency_us", "p50"), "p99": ("latency_us", "p99")}  # of targets; others are a figure's own names


def median(runs, *path):
    """The median over the rounds of a figure that may be deep inside; None where it was not measured."""
    found = []
    for run in runs:
        for key in path:
            run = run.get(key) if isinstance(run, dict) else None
        if run is not None:
            found.append(run)
    return statistics.median(found) if found else None


def show(value, digits=None):
    if value is None:
        return "-"
    if digits is None:
        digits = 0 if value >= 1000 else 1 if value >= 100 else 2 if value >= 10 else 3
    return f"{value:,.{digits}f}"


def better_of(row, results, names):
    """The best of these contestants, in whatever variant."""
    found = [median(runs, "value") for name, runs in results.items() if runs and volumes.base_of(name) in names]
    return (min(found) if row.lower else max(found)) if found else None


def least_of(results, basis, metric):
    """The same of another metric, of which less is better."""
    costs = [median(runs, metric) for name, runs in results.items() if volumes.base_of(name) == basis]
    return min((cost for cost in costs if cost is not None), default=None)


def rival(row, results):
    """What ours is compared with: the better of XFS and EROFS, or the better of the other packers."""
    names = ("mkfs.erofs", "mksquashfs") if row.kind == "pack" else ("xfs", "erofs")
    return better_of(row, results, names)


def ratio(row, value, basis):
    """Above 1 is better than the basis, whatever is better of low and high."""
    if not value or not basis:
        return None
    return basis / value if row.lower else value / basis


def cells(row, results, name):
    runs = results[name]
    values = [run["value"] for run in runs]
    middle = median(runs, "value")
    raw = better_of(row, results, ("fio",))
    costs = (("reads_per_file", 3), ("requests_per_file", 3), ("cpu_us_per_file", 1), ("own_cpu_us_per_file", 1))
    return (show(middle), f"{show(min(values))}–{show(max(values))}",
            show(ratio(row, middle, rival(row, results)), 2), show(ratio(row, middle, raw), 2),
            *(show(median(runs, key), digits) for key, digits in costs),
            show(median(runs, "latency_us", "p50"), 0), show(median(runs, "latency_us", "p99"), 0))


def basis_of(row, results, target):
    if target.basis == "cap":
        return row.cap * (row.members - row.lost)
    if target.basis == "rival":
        return rival(row, results)
    if target.basis in map(volumes.base_of, target.columns):  # a variant of it is judged: the basis is without
        return median(results.get(target.basis, []), "value")
    return better_of(row, results, (target.basis,))


def judge(row, results, target, name):
    """(figure, met) of one target for one contestant; None where something it needs was not measured."""
    value = median(results.get(name, []), *METRICS.get(target.metric, (target.metric,)))
    if value is None:
        return None
    if target.pair:
        return judge_pair(row, results, target, name)
    if target.most is not None and target.basis:
        basis = least_of(results, target.basis, target.metric)
        return (value / basis, value / basis <= target.most) if basis else None
    if target.most is not None:
        return value, value <= target.most
    basis = basis_of(row, results, target)
    if basis is None:
        return None
    if target.plus:
        return value - basis, value <= basis + target.plus
    found = ratio(row, value, basis)
    return found, found >= target.factor


# Student's t for 95 %, by degrees of freedom.
T95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10,
       2.09)


def interval(row, results, pair):
    """(mean, half of its 95 % interval, pairs) of the ratios of the rounds; None for less than two."""
    runs = [results.get(name, []) for name in pair]
    ratios = [ratio(row, first["value"], second["value"]) for first, second in zip(*runs)]
    if len(ratios) < 2:
        return None
    t = T95[min(len(ratios) - 2, len(T95) - 1)]
    return statistics.mean(ratios), t * statistics.stdev(ratios) / len(ratios) ** 0.5, len(ratios)


def judge_pair(row, results, target, name):
    for pair in row.pairs:
        found = interval(row, results, pair) if pair[0] == name else None
        if found:
            mean, half, _ = found
            return mean, mean + half >= target.factor and not (target.both and mean - half > target.factor)
    return None


def verdicts(row, results):
    """A list of (target's text, contestant, figure, met)."""
    found = []
    for target in row.targets:
        for name in target.columns:
            judged = judge(row, results, target, name)
            if judged:
                found.append((target.text, name, *judged))
    return found


def print_carried(results):
    """What a file costs beyond carrying its bytes, for those who carry lists and for those who carry tensors."""
    for carry in ("carry", "carry-joined"):
        if not results.get(carry):
            continue
        bare, kind = 1e6 / median(results[carry], "value"), carry.removeprefix("carry")
        net = [f"{name} {show(1e6 / median(runs, 'value') - bare)}" for name, runs in results.items()
               if volumes.base_of(name) != "carry" and name.endswith("-joined") == bool(kind)]
        print(f"  µs a file: {show(bare)} to carry the bytes{' as one tensor' if kind else ''}, and beyond that "
              + ", ".join(net))


def print_row(row, about, results, left_out, checked, images):
    cap = f", {'each ' if row.members > 1 else ''}capped at {row.cap:,} reads/s" if row.cap else ""
    print(f"\n{row.name}: {row.title}; {about['files']:,} files, {about['bytes'] / 1e9:.2f} GB{cap} [{row.unit}]")
    if checked:
        print("  the cap as fio sees it: " + ", ".join(f"{name} {iops:,.0f}" for name, iops in checked.items()))
    if results:
        print("  " + " " * 18 + " ".join(form.format(name) for name, form in COLUMNS))
    for name in results:
        shown = zip(COLUMNS, cells(row, results, name))
        print(f"  {name:<18}" + " ".join(form.format(cell) for (_, form), cell in shown))
    for text in dict.fromkeys(target.text for target in row.targets):
        judged = [f"{name} {show(figure, 2)} {'met' if met else 'MISSED'}"
                  for what, name, figure, met in verdicts(row, results) if what == text]
        print(f"  target {text}: " + (", ".join(judged) if judged else "not measured"))
    extra = [f"{name} {show(median(runs, 'peak_mib'), 0)} MiB" for name, runs in results.items()
             if median(runs, "peak_mib")]
    if extra:
        print("  peak memory: " + ", ".join(extra))
    images = images or {name: size for name, runs in results.items() if (size := median(runs, "image_bytes"))}
    if images:
        print("  on the disk: " + ", ".join(f"{kind} {size / 1e6:,.0f} MB" for kind, size in images.items()))
    more = [f"{name} {text} {show(median(runs, key))}{unit}" for name, runs in results.items()
            for key, text, unit in (("busiest", "busiest member", " × the mean"),
                                    ("mount_cpu", "the daemon's CPU by then", " s"),
                                    ("stall_ms", "longest wait", " ms"), ("command_ms", "whole command", " ms"),
                                    ("scan_seconds", "making the data set", " s"),
                                    ("first_seconds", "first batch", " s"),
                                    ("replaced", "members replaced", ""),
                                    ("read_bytes", "read", " bytes"), ("written_bytes", "written", " bytes"),
                                    ("changed_bytes", "changed", " bytes"), ("index_bytes", "index", " bytes"),
                                    ("moved_bytes", "moved", " bytes"), ("freed_bytes", "freed", " bytes"))
            if median(runs, key) is not None]
    if more:
        print("  " + ", ".join(more))
    print_carried(results)
    for pair in row.pairs:
        found = interval(row, results, pair)
        if found:
            print(f"  {pair[0]} : {pair[1]} = {found[0]:.3f} ± {found[1]:.3f} (95 %, {found[2]} pairs)")
    disturbed = sum(bool(run.get("disturbed")) for runs in results.values() for run in runs)
    if disturbed:
        print(f"  disturbed: in {disturbed} measurements somebody else dropped the caches")
    for name, reason in left_out.items():
        print(f"  {name} left out: {reason}")


def print_smoke(row, results, left_out):
    """That it works, and no figure: tiny trees say nothing about speed."""
    counted = ", ".join(f"{name} {runs[0]['count']:,}" for name, runs in results.items())
    print(f"{row.name}: {counted or 'nothing measured'}")
    for reason in dict.fromkeys(left_out.values()):
        print(f"  {', '.join(name for name, why in left_out.items() if why == reason)} left out: {reason}")


def print_machine(machine, settings):
    disk = machine["disk"]
    print(f"Linux {machine['kernel']}, {machine['cpus']} CPUs {machine['cpu_model']}, {machine['memory_gib']} GiB, "
          f"load {machine['load_average'][0]:.1f} at the begin")
    print(f"images in {disk['filesystem']} on {disk['source']} "
          f"({disk.get('size', '?')}, scheduler {disk.get('sched', '?')}), "
          f"loop devices with direct I/O {'on' if settings['direct_io'] else 'off'}; "
          f"enable_uring was {machine['enable_uring']}; huge pages: {machine['huge_pages']}; "
          f"idle CPUs: {machine['idle']}")
    print(f"{settings['rounds']} rounds interleaved, scale {settings['scale']:g}, "
          f"{'seconds per measurement ' + format(settings['seconds'], 'g') if settings['seconds'] else 'whole rows'}; "
          f"{machine['fio']}; {machine['time']}")


def summary(row, results):
    """What the JSON says of a contestant beside its runs."""
    return {name: {"median": median(runs, "value"), "min": min(run["value"] for run in runs),
                   "max": max(run["value"] for run in runs),
                   "ratio_to_rival": ratio(row, median(runs, "value"), rival(row, results)),
                   "ratio_to_fio": ratio(row, median(runs, "value"), better_of(row, results, ("fio",))),
                   "channel": next((base for base in volumes.OURS if base == volumes.base_of(name)), None),
                   "runs": runs}
            for name, runs in results.items()}
