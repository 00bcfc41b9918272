# SPDX-License-Identifier: MIT
"""The rows of the table: what is read from which tree by how many threads, and what it must reach."""
import dataclasses

CAP = 10_000  # read IOPS: a share of a busy NVMe-oF target
SLOW = 2500   # the same, of one that more share
PAIRS = 15  # measurements where two are compared closely
EROFS = ("erofs", "erofs-noinline")  # with tails of files inline, as by default, and without
SERVED = ("dev", "ring", "kernel", "xfs", *EROFS, "squashfs", "fio")  # where the kernel can serve our image
# The walk before the clock starts: suffix of the row's name, the reader's --walk, words.
WALKS = (("", "stat", "known"), ("-listed", "list", "listed"), ("-unknown", "none", "unknown"))


@dataclasses.dataclass(frozen=True)
class Target:
    """The figure of `columns` against `basis`: a contestant's figure, or a number where `most` is given.

    Times the factor for the row's own metric, whatever is better of low and high; `plus` is added to the basis.
    With `basis` and `most`: at most so many times the same metric of the basis.
    """
    text: str
    basis: str = ""
    factor: float = 1.0
    columns: tuple = ("dev", "ring")
    metric: str = "value"
    plus: float = 0.0
    most: float | None = None
    pair: bool = False            # met where the interval of the pair that begins with the contestant reaches factor,
    both: bool = False            # and, where more would be as wrong as less, holds it


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    title: str
    tree: str
    kind: str                     # a function of measure.py or versions.py
    unit: str = "files/s"
    lower: bool = False           # the smaller figure is better
    threads: int = 1
    walk: str = "none"            # what the reader does before the clock starts
    buffer: int = 1 << 20
    cap: int | None = None
    memory: bool = False          # images in tmpfs instead of on the disk
    drive_on_disk: bool = False   # that of a cache; otherwise it is where the images are
    compress: str | None = None   # of our image
    image: str | None = None      # ours, of another kind
    columns: tuple = ("dev", "ring", "xfs", *EROFS, "squashfs", "fio")
    targets: tuple = ()
    limit: float | None = None    # seconds of one measurement unless --seconds says otherwise; None: to the end
    batch: int = 1                # files of one call of the library
    engine: str = "io_uring"      # of fio
    depth: int = 0                # reads in flight of each job of fio; 0: one job with as many as the row has threads
    rounds: int | None = None     # unless --rounds says otherwise; None: 5
    processes: bool = False       # of Python, instead of threads
    delay: int = 0                # µs that a read of the device takes longer
    pairs: tuple = ()             # contestants that are compared round by round
    members: int = 1              # devices of our volume; the cap is that of each
    copies: int = 1               # of everything, on as many of them
    lost: int = 0                 # of them, that are not there


RIVAL = "≥ {0} × the better of XFS and EROFS"


def rival(factor):
    return Target(RIVAL.format(factor), "rival", factor)


def raw(factor):
    return Target(f"≥ {factor} × fio", "fio", factor)


def no_slower(columns):
    return Target("no slower than the earlier build: the 95 % interval reaches 0.98", factor=0.98, columns=columns,
                  pair=True)


ONE_READ = Target("by the kernel: device reads per file ≤ 1.01", metric="reads_per_file", most=1.01,
                  columns=("kernel",))


def of_cap(*more):
    return (Target("≥ 0.97 × the cap", "cap", 0.97),
            Target("device reads per file ≤ 1.01", metric="reads_per_file", most=1.01)) + more


def read_rows():
    known = {"kind": "read_files", "walk": "stat"}
    served = known | {"columns": SERVED}
    small = of_cap(Target("≥ 1.45 × XFS", "xfs", 1.45), Target("≥ 1.6 × EROFS", "erofs", 1.6), ONE_READ)
    for threads in (16, 64):
        for suffix, walk, words in WALKS:
            yield Row(f"capped-8k-{threads}{suffix}", f"mean 8 KB, {threads} threads, names {words}", "8k",
                      "read_files", threads=threads, walk=walk, cap=CAP, limit=60, columns=SERVED, targets=small)
    yield Row("uncapped-8k-16", "mean 8 KB, 16 threads, names known", "8k", threads=16, limit=60, **served,
              targets=(rival(1.0), raw(0.7)))
    yield Row("uncapped-8k-64", "mean 8 KB, 64 threads, names known", "8k", threads=64, limit=60, **served,
              targets=(rival(1.0), raw(0.7)))
    yield Row("cpu-8k-8", "mean 8 KB in memory, 8 threads, names known", "8k", threads=8, limit=60,
              memory=True, **served, targets=(rival(1.0), Target("ring ≥ 1.15 × dev", "dev", 1.15, ("ring",))))
    yield Row("cpu-8k-32", "mean 8 KB in memory, 32 threads, names known", "8k", threads=32, limit=60,
              memory=True, **served, targets=(rival(1.0), Target("ring ≥ 1.15 × dev", "dev", 1.15, ("ring",))))
    yield Row("latency-8k", "median of open, fstat, read, close of a cold file, 1 thread, names known", "8k",
              unit="µs", lower=True, limit=10, **known,
              columns=("dev", "ring", "run", "xfs", *EROFS, "squashfs", "fio"),
              targets=(Target("≤ raw device latency + 30 µs", "fio", plus=30),))


def python_rows():
    yield Row("python-8k-16", "CPython, os.scandir and read by 16 threads", "8k", "read_python", threads=16, limit=60,
              columns=("dev", "ring", "xfs", *EROFS, "squashfs"),
              targets=(Target("no slower than EROFS", "erofs"),))
    yield Row("imagefolder-110k", "one epoch of PyTorch's ImageFolder, 4 workers", "110k", "read_imagefolder",
              threads=4, columns=("dev", "ring", "xfs", *EROFS, "squashfs"),
              targets=(Target("no slower than EROFS", "erofs"),))


def pack_rows():
    packers = ("mkdatasetfs", "mkfs.erofs", "mkfs.erofs-noinline", "mksquashfs")
    peak = Target("peak memory ≤ 256 MiB", metric="peak_mib", most=256, columns=("mkdatasetfs",))

    def faster(factor, than):
        return Target(f"≥ {factor} × {than}", than, factor, ("mkdatasetfs",))
    yield Row("pack-8k", "packing the tree, warm source", "8k", "pack", "s", lower=True, columns=packers,
              targets=(faster(5, "mkfs.erofs"), faster(3, "mksquashfs"), peak))
    orders = {"lower": True, "columns": ("mkdatasetfs", "mkdatasetfs-random"), "rounds": PAIRS,
              "pairs": (("mkdatasetfs-random", "mkdatasetfs"),)}
    yield Row("pack-8k-random", "packing the tree in random order, warm source", "8k", "pack", "s", **orders,
              targets=(Target("≥ 0.9 × the order of the tree", "mkdatasetfs", 0.9, ("mkdatasetfs-random",)),))
    yield Row("pack-8k-random-cold", "packing the tree in random order, source on the disk", "8k", "pack_cold", "s",
              **orders,
              targets=(Target("≥ 0.9 × the order of the tree", "mkdatasetfs", 0.9, ("mkdatasetfs-random",)),))
    yield Row("pack-8k-sha256", "packing the tree with SHA-256, warm source", "8k", "pack", "s", lower=True,
              rounds=PAIRS, columns=("mkdatasetfs", "mkdatasetfs-sha256"),
              pairs=(("mkdatasetfs-sha256", "mkdatasetfs"),),
              targets=(Target("≤ 1.25 × the time with XXH3-64", "mkdatasetfs", 0.8, ("mkdatasetfs-sha256",)),))
    yield Row("pack-4k", "packing the tree, warm source", "4k", "pack", "s", lower=True, columns=packers,
              targets=(faster(5, "mkfs.erofs"), peak))


def large_rows():
    yield Row("capped-text-64", "text of mean 8 KB, ours compressed with zstd, 64 threads, names known", "text",
              "read_files", threads=64, walk="stat", cap=CAP, limit=60, compress="zstd", targets=of_cap())
    yield Row("uncapped-110k-16", "mean 110 KB, 16 threads, names known", "110k", "read_files", threads=16, walk="stat",
              limit=60, targets=(rival(1.2), raw(0.9)))
    yield Row("uncapped-323k-8", "323 KB each, 8 threads, names known", "323k", "read_files", threads=8, walk="stat",
              limit=60, targets=(Target("≥ 1.0 × EROFS", "erofs"),
                                 Target("device reads per file ≤ 1.01", metric="reads_per_file", most=1.01),
                                 Target("READs per file ≤ 1.01", metric="read_requests_per_file", most=1.01)))
    yield Row("preads-1g", "random 8 KiB preads in 1 GiB files, 16 threads", "gib", "read_blocks", "reads/s",
              threads=16, buffer=8192, limit=20, targets=(Target("≥ 0.8 × EROFS", "erofs", 0.8),))
    yield Row("sequential-4g", "one file from its begin to its end, 1 thread", "long", "read_sequential", "MB/s",
              targets=(Target("≥ 0.9 × EROFS", "erofs", 0.9),
                       Target("device bytes per byte ≤ 1.02", metric="device_bytes_per_byte", most=1.02)))


def million_rows():
    tiny = of_cap(Target("≥ 2.3 × XFS", "xfs", 2.3), Target("≥ 1.7 × EROFS", "erofs", 1.7))
    for suffix, walk, words in WALKS:
        yield Row(f"capped-4k-64{suffix}", f"mean 4 KB, 64 threads, names {words}", "4k", "read_files", threads=64,
                  walk=walk, cap=CAP, limit=60, targets=tiny)
    yield Row("find-4k", "find -printf '%s %T@ %p', cold", "4k", "find", "s", lower=True,
              columns=("dev", "ring", "xfs", *EROFS, "squashfs"),
              targets=(Target("≥ 1.5 × the better rival", "rival", 1.5),))
    yield Row("mount-4k", "from the command to the first stat", "4k", "mount_time", "s", lower=True,
              columns=("dev", "ring", "xfs", *EROFS, "squashfs"),
              targets=(Target("≤ 1 s", metric="value", most=1.0),
                       Target("index ≤ 96 bytes a file", metric="index_bytes_per_file", most=96)))
    yield Row("mount-4k-trust", "from the command to the first stat, of a version that is signed", "4k", "mount_time",
              "s", lower=True, image="datasetfs-signed", columns=("dev", "dev-trust"), pairs=(("dev-trust", "dev"),),
              targets=(Target("≤ 2 s more with trust=", "dev", plus=2.0, columns=("dev-trust",)),
                       Target("index ≤ 109 bytes a file", metric="index_bytes_per_file", most=109)))


def ahead_rows():
    walkers = ("dev", "ring", "dev-off", "ring-off", "kernel", "kernel-follow", *EROFS, "xfs", "squashfs")
    targets = (Target("≥ 3 × EROFS", "erofs", 3.0),
               Target("device reads per file ≤ 0.05", metric="reads_per_file", most=0.05))
    for name, words, cap in (("tar-8k", "cold, device not limited", None), ("tar-8k-capped", "cold", CAP)):
        yield Row(name, f"tar of the mount into a pipe, {words}", "8k", "tar", cap=cap, columns=walkers,
                  targets=targets)
    yield Row("tar-8k-random", "tar of a mount in random order into a pipe, cold, device not limited", "8k", "tar",
              columns=("dev", "dev-random", "ring", "ring-random"))
    yield Row("shuffled-ahead", "mean 8 KB in memory, 16 threads, random order, names known, reading ahead on and off",
              "8k", "read_files", threads=16, walk="stat", memory=True, limit=5, rounds=PAIRS,
              columns=("dev", "dev-off", "ring", "ring-off"), pairs=(("dev", "dev-off"), ("ring", "ring-off")),
              targets=(Target("no difference to reading ahead off: 1 lies in the 95 % interval", pair=True,
                              both=True),))
    yield Row("prefetch-1ms", "mean 8 KB, a read of the device takes 1 ms longer, one reader in random order", "8k",
              "read_shuffled", limit=10, delay=1000,
              columns=("dev", "ring", "kernel", "dev-prefetch", "ring-prefetch", "kernel-prefetch"),
              targets=(Target("≥ 5 × without PrefetchSampler", "dev", 5.0, ("dev-prefetch", "ring-prefetch")),
                       Target("median of open, read, close ≤ 15 µs", metric="p50", most=15,
                              columns=("dev-prefetch", "ring-prefetch"))))
    blocks = ("dev-blocks", "ring-blocks")
    yield Row("prefetch-blocks-8k", "mean 8 KB, an epoch read by 4 processes of CPython, names known; mixed in blocks "
              "of 128 neighbours that the mount is told of, and file by file", "8k", "read_mixed", threads=4, cap=2500,
              limit=10, columns=("dev", "ring", "kernel", "dev-prefetch", "ring-prefetch", "kernel-prefetch", *blocks),
              targets=(Target("≥ 0.95 × the daemon's", "dev-prefetch", 0.95, ("kernel-prefetch",)),
                       Target("≥ 8 × the full shuffle", "dev", 8.0, blocks),
                       Target("device reads per file ≤ 0.05", metric="reads_per_file", most=0.05, columns=blocks)))


def epoch_rows():
    """What a shuffle costs: each file by itself, or in runs as tar shards are read, with the same buffer and as many
    processes. A load more that reads in runs is a column more."""
    loads = ("lib", "lib-blocks", "lib-random", "lib-joined", "shards", "shards-large", "shards-raw", "shards-joined")
    ours = ("lib-blocks", "lib-random", "lib-joined")
    few = Target("device reads per file ≤ 0.05", metric="reads_per_file", most=0.05, columns=ours)
    targets = {"": (Target("≥ 1.5 × a full shuffle", "lib", 1.5, ours),
                    Target("≥ 1.5 × tar shards", "shards", 1.5, ours)),
               "8k-capped": (Target("≥ 10 × a full shuffle", "lib", 10.0, ours), few),
               "110k-capped": (Target("≥ 5 × a full shuffle", "lib", 5.0, ours),)}
    for tree, words, place, workers, how in (("8k", "mean 8 KB", "", 4, "4 workers"),
                                             ("8k", "mean 8 KB", "-one", 0, "one process"),
                                             ("110k", "mean 110 KB", "", 4, "4 workers"),
                                             ("110k", "mean 110 KB", "-one", 0, "one process")):
        for suffix, cap in (("", None), ("-capped", SLOW)):
            yield Row(f"epoch-{tree}{place}{suffix}", f"{words}, PyTorch's DataLoader, {how}, batches of 256 files as "
                      "bytes", tree, "read_loader", threads=workers, cap=cap,
                      columns=loads if cap else (*loads, "carry", "carry-joined"),
                      targets=targets.get(tree + suffix, () if cap or tree != "8k" else targets[""]))
    for tree, words in (("8k", "mean 8 KB"), ("110k", "mean 110 KB")):
        yield Row(f"lib-capped-{tree}", f"{words}, dsfs_read_many() of 256 ids by 2 threads, full shuffle", tree,
                  "read_batches", threads=2, batch=256, depth=32, walk="stat", cap=SLOW, limit=10,
                  columns=("lib", "fio"), targets=(Target("≥ 0.97 × the cap", "cap", 0.97, ("lib",)),))


def library_rows():
    batches = {"kind": "read_batches", "threads": 2, "batch": 256, "depth": 32, "walk": "stat", "limit": 10}
    ours = ("lib", "lib-path", "lib-queue", "dev-16", "ring-16")
    yield Row("lib-cpu-8k", "mean 8 KB in memory, batches of 256 by 2 threads, names known", "8k", memory=True,
              columns=(*ours, "erofs-8", "erofs-16", "erofs-32", "erofs-noinline-16", "fio"), **batches,
              targets=(Target("≥ 0.8 × fio", "fio", 0.8, ("lib",)), Target("≥ 4 × EROFS", "erofs", 4.0, ("lib",)),
                       Target("by path ≥ 3 × EROFS", "erofs", 3.0, ("lib-path",))))
    yield Row("lib-disk-8k", "mean 8 KB, batches of 256 by 2 threads, names known", "8k",
              columns=(*ours, "erofs-16", "erofs-noinline-16", "fio"), **batches,
              targets=(Target("≥ 0.95 × fio", "fio", 0.95, ("lib",)), Target("≥ 1.6 × EROFS", "erofs", 1.6, ("lib",))))
    yield Row("lib-disk-110k", "mean 110 KB, batches of 256 by 2 threads, names known", "110k",
              columns=(*ours, "erofs-16", "erofs-noinline-16", "fio"), **batches,
              targets=(Target("≥ 0.95 × fio", "fio", 0.95, ("lib",)),))
    python = {"kind": "read_paths", "threads": 16, "walk": "stat", "limit": 10,
              "columns": ("lib", "lib-many", "dev", "ring", "run", *EROFS)}

    def single(factor):
        return (Target(f"≥ {factor} × EROFS's open().read()", "erofs", factor, ("lib",)),
                Target("unchanged: no slower than EROFS", "erofs", columns=("run",)))
    yield Row("python-cpu-8k", "mean 8 KB in memory, read(path) by 16 threads of CPython, names known", "8k",
              memory=True, targets=single(5.0), **python)
    yield Row("python-disk-8k", "mean 8 KB, read(path) by 16 threads of CPython, names known", "8k",
              targets=single(3.0), **python)
    yield Row("dataloader-8k", "PyTorch's DataLoader, 4 workers, batches of 256 files as bytes", "8k", "read_loader",
              threads=4, columns=("lib", "dev", *EROFS, "carry"),
              targets=(Target("≥ 2 × EROFS with ImageFolder", "erofs", 2.0, ("lib",)),))
    yield from epoch_rows()
    yield Row("first-batch-4k", "the same, from making the data set to its first batch", "4k", "first_batch", "s",
              lower=True, threads=4, columns=("lib", "dev", *EROFS),
              targets=(Target("≤ 1 s", most=1.0, columns=("lib",)),))


def sums_rows():
    """What SHA-256 costs a reader whose CPU is the bottleneck: each against itself with XXH3-64."""
    def row(name, words, factor, *contestants, **more):
        pairs = tuple((f"{one}-sha256", one) for one in contestants)
        columns = tuple(column for pair in pairs for column in pair[::-1])
        targets = tuple(Target(f"SHA-256 ≥ {factor} × XXH3-64", plain, factor, (other,)) for other, plain in pairs)
        return Row(f"sums-{name}", f"mean 8 KB in memory, {words}, names known", "8k", walk="stat", memory=True,
                   limit=10, rounds=PAIRS, columns=columns, pairs=pairs, targets=targets, **more)
    yield row("cpu-8k-32", "32 threads", 0.85, "dev", "ring", kind="read_files", threads=32)
    yield row("run-cpu-8k-16", "datasetfs-run, 16 threads", 0.75, "run", kind="read_batches", depth=1, engine="psync",
              threads=16)
    yield row("lib-cpu-8k", "batches of 256 by 2 threads", 0.45, "lib", kind="read_batches", threads=2, batch=256,
              depth=32)


def run_rows():
    """Unchanged programs, which datasetfs-run starts."""
    def target(text, *words, **more):
        return Target(text, *words, columns=("run",), **more)

    def faster(factor):
        return target(f"≥ {factor} × EROFS", "erofs", factor)
    cheap = target("CPU ≤ 0.6 × EROFS", "erofs", metric="cpu_us_per_file", most=0.6)
    program = {"kind": "read_batches", "depth": 1, "engine": "psync", "limit": 10,
               "columns": ("run", "run-compat", "lib-file", "dev", "ring", *EROFS, "fio")}
    for threads, factor in ((16, 1.9), (2, 1.4)):
        for suffix, walk, words in (WALKS[0], WALKS[2]):
            yield Row(f"run-cpu-8k-{threads}{suffix}", f"mean 8 KB in memory, {threads} threads, names {words}", "8k",
                      threads=threads, walk=walk, memory=True, **program,
                      targets=(faster(factor), target("≥ 0.7 × fio psync", "fio", 0.7), cheap))
    yield Row("run-disk-8k-16", "mean 8 KB, 16 threads, names known", "8k", threads=16, walk="stat", **program,
              targets=(faster(1.25),))
    yield Row("run-latency-8k", "median of open, fstat, read, close of a cold file in memory, 1 thread, names known",
              "8k", "read_files", "µs", lower=True, walk="stat", memory=True, engine="psync", limit=10,
              columns=("run", "dev", "ring", *EROFS, "fio"),
              targets=(target("≤ raw device latency + 10 µs", "fio", plus=10),))
    python = {"kind": "read_paths", "threads": 16, "processes": True, "walk": "stat", "limit": 10,
              "columns": ("run", "dev", "ring", *EROFS)}
    yield Row("run-python-cpu-8k", "mean 8 KB in memory, open().read() by 16 processes of CPython, names known", "8k",
              memory=True, targets=(faster(1.5),), **python)
    yield Row("run-python-disk-8k", "mean 8 KB, open().read() by 16 processes of CPython, names known", "8k",
              targets=(faster(1.4),), **python)
    start = {"unit": "ms", "lower": True, "columns": ("run", "run-child", "dev"),
             "targets": (target("≤ 1 ms more than without", "dev", plus=1.0),)}
    yield Row("run-start-true", "a start of /bin/true, which opens nothing on the mount", "8k", "start_true", **start)
    yield Row("run-start-cat", "a start of cat, which reads one file of the mount", "8k", "start_cat", memory=True,
              **start)


def member_rows():
    """A volume on several devices: it is read as fast as all of them together."""
    columns = ("dev-64", "ring-64", "lib")
    even = Target("the busiest member ≤ 1.05 × the mean", metric="busiest", most=1.05, columns=columns)
    single = Target("device reads per file ≤ 1.02", metric="reads_per_file", most=1.02, columns=columns)

    def row(name, words, factor, **more):
        more = {"cap": 2500, "limit": 20, "columns": (*columns, "fio"), "targets": (single, even)} | more
        goal = Target(f"≥ {factor} × the caps together", "cap", factor, columns)
        title = f"mean 8 KB in memory, {words}, 64 threads, names known; the library: batches of 256 by 2 threads"
        return Row(name, title, "8k", "read_batches", threads=2, batch=256, depth=32, walk="stat", memory=True,
                   **more | {"targets": (goal, *more["targets"])})
    for members in (1, 2, 4, 8):
        yield row(f"members-{members}", f"devices: {members}", 0.95, members=members)
    yield row("members-4-10k", "devices: 4", 0.9, members=4, cap=CAP)
    # One that is lost leaves its neighbours more than the others, and fio knows no copies.
    for members in (2, 4):
        mirror = {"members": members, "copies": 2, "columns": columns}
        yield row(f"mirror-{members}", f"devices: {members}, each file on 2 of them", 0.95, **mirror)
        yield row(f"mirror-{members}-lost", f"devices: {members}, each file on 2 of them, one device not there", 0.9,
                  lost=1, **mirror | {"targets": (single,)})
    pair = ("dev-replacing", "dev")
    yield Row("mirror-4-replace", "mean 8 KB in memory, devices: 4, each file on 2 of them, one being replaced all the "
              "time, 64 threads, names known", "8k", "read_replacing", threads=64, walk="stat", cap=2500, members=4,
              copies=2, limit=10, columns=pair, pairs=(pair,),
              targets=(Target("≥ 0.8 × undisturbed: the 95 % interval reaches it", factor=0.8, columns=pair[:1],
                              pair=True),))


def sharing_rows():
    """Readers that do not know of each other on one device."""
    ours = ("dev", "ring")
    yield Row("shared-8k", "mean 8 KB in memory, 4 threads on one mount while 64 read through another mount of the "
              "device, names known", "8k", "read_shared", threads=4, walk="stat", memory=True, cap=SLOW, limit=10,
              columns=(*ours, "dev-windowless"),
              targets=(Target("≥ 0.45 × the cap", "cap", 0.45, ours),
                       Target("unused by both ≤ 0.03", metric="unused", most=0.03, columns=ours)))
    def cost(name, words, *contestants, **more):
        pairs = tuple((one, f"{one}-windowless") for one in contestants)
        target = Target("≥ 0.97 × window=off: the 95 % interval reaches it", factor=0.97, columns=contestants,
                        pair=True)
        return Row(f"window-{name}", f"mean 8 KB{words}, names known, with and without a window", "8k", walk="stat",
                   limit=10, rounds=PAIRS, columns=sum(pairs, ()), pairs=pairs, targets=(target,), **more)
    yield cost("lib-cpu-8k", " in memory, batches of 256 by 2 threads", "lib", kind="read_batches", threads=2,
               batch=256, depth=32, memory=True)
    yield cost("cpu-8k-32", " in memory, 32 threads", *ours, kind="read_files", threads=32, memory=True)
    yield cost("uncapped-8k-16", ", 16 threads", *ours, kind="read_files", threads=16)
    for verb in ("verify", "scrub"):
        pair = (f"dev-{verb}", "dev")
        yield Row(f"beside-8k-{verb}", "p99 of a reader that takes half of what a device gives, which serves 16 reads "
                  f"of 64 ms at a time, beside datasetfsctl {verb}", "8k", "read_beside", "µs", lower=True,
                  threads=16, walk="stat", memory=True, delay=64000, limit=10, columns=pair, pairs=(pair,),
                  targets=(Target("p99 ≤ 1.2 × alone: the 95 % interval reaches it", factor=1 / 1.2,
                                  columns=pair[:1], pair=True),
                           Target("unused of what the reader leaves ≤ 0.5", metric="unused", most=0.5,
                                  columns=pair[:1])))


def tier_rows():
    """A mount with a cache on a drive of the machine against one without. The drive is mostly as fast as the volume."""
    def row(name, words, variant, *targets, **more):
        pairs = tuple((f"{base}-{variant}", base) for base in ("dev", "ring"))
        caches = tuple(cache for cache, _ in pairs)
        goals = tuple(dataclasses.replace(target, columns=target.columns or caches) for target in targets)
        more = {"columns": sum(pairs, ()), "pairs": pairs, "rounds": 8} | more
        return Row(f"tier-{name}-8k", f"mean 8 KB in memory, names known, a cache on a drive of its own, {words}", "8k",
                   "read_tier", walk="stat", memory=True, targets=goals, **{"threads": 16, "limit": 10} | more)
    def pair(factor):
        return Target(f"≥ {factor} × without a cache: the 95 % interval reaches it", factor=factor, columns=(),
                      pair=True)
    def most(text, metric, limit, columns=(), basis=""):
        return Target(text, basis, metric=metric, most=limit, columns=columns)
    yield row("full", "which is full: 16 threads; half: which has room for half", "tier", pair(0.95),
              most("reads of the volume beyond those of what it lacks ≤ 0.001 of all", "reads_more", 0.001),
              most("reads of the drive per file ≤ 1.01", "tier_reads_per_file", 1.01),
              most("own CPU ≤ 1.05 × without", "own_cpu_us_per_file", 1.05, ("dev-tier",), "dev"),
              most("half: reads of the volume beyond those of what it lacks ≤ 0.01 of all", "reads_more", 0.01,
                   ("dev-half",)),
              columns=("dev-tier", "dev", "ring-tier", "ring", "dev-half"))
    # A drive in memory would take CPU time for each byte, which a drive does not.
    yield row("fill", "on the disk, the epoch that fills it, 16 threads", "filling", pair(0.93),
              most("p99 ≤ 1.2 × without", "p99_us", 1.2, ("dev-filling",), "dev"),
              most("p99 ≤ 1.2 × without", "p99_us", 1.2, ("ring-filling",), "ring"), limit=60,
              drive_on_disk=True)
    yield row("capped", "which is full, both devices limited, 64 threads", "tier",
              Target("≥ 0.95 × both caps together", "cap", 1.9, ()), threads=64, cap=SLOW, pairs=(), rounds=5,
              columns=("dev-tier", "ring-tier", "dev"))
    yield row("lost", "whose every read is short, 64 threads", "lost", pair(0.95), threads=64, cap=SLOW)


def version_rows():
    yield Row("switch-4k", "datasetfsctl switch after --prepare, under 4 readers", "4k", "switch_time", "ms",
              lower=True, columns=("dev", "ring"),
              targets=(Target("≤ 10 ms", most=10.0),
                       Target("longest wait of a reader ≤ 50 ms", metric="stall_ms", most=50.0)))
    yield Row("publish-trust-4k", "publishing with 1 % changed, --trust-mtime, warm source", "4k",
              "publish_trusting", "s", lower=True, columns=("mkdatasetfs", "find"),
              targets=(Target("≤ 2 × find -printf '%s %T@'", "find", 0.5, ("mkdatasetfs",)),
                       Target("written beside the index ≤ 2 % of the content", metric="written_share", most=0.02,
                              columns=("mkdatasetfs",))))
    yield Row("publish-read-4k", "publishing with 1 % changed, by content, warm source", "4k", "publish_reading", "s",
              lower=True, columns=("mkdatasetfs", "tar"),
              targets=(Target("≥ 1 × tar", "tar", 1.0, ("mkdatasetfs",)),))
    yield Row("compact-4k", "datasetfsctl compact, 4 of 5 files dead in 3 of 10 folders, cold", "4k", "compact", "s",
              lower=True, columns=("datasetfsctl", "dd"),
              targets=(Target("peak memory ≤ 256 MiB", metric="peak_mib", most=256, columns=("datasetfsctl",)),))


def all_rows():
    """In the order of trees, so that only one of them needs to be on the disk."""
    rows = [*read_rows(), *python_rows(), *pack_rows(), *ahead_rows(), *library_rows(), *run_rows(), *sums_rows(),
            *member_rows(), *sharing_rows(), *tier_rows(), *large_rows(), *million_rows(), *version_rows()]
    order = {name: number for number, name in enumerate(("8k", "text", "110k", "323k", "gib", "long", "4k"))}
    return sorted(rows, key=lambda row: order[row.tree])
