# SPDX-License-Identifier: MIT
"""What prefetch.sh tells a mount, and what it finds then: prefetch.py WHAT MOUNT ARGUMENT…"""
import array
import contextlib
import errno
import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.environ["DATASETFS_SOURCE"], "contrib", "python"))
import datasetfs  # noqa: E402
from datasetfs import prefetch as module  # noqa: E402

sys.path.insert(0, os.path.join(os.environ["DATASETFS_SOURCE"], "tests", "lib"))
from cached import absent  # noqa: E402
from patience import Patience  # noqa: E402

MOST = module.DSFS_PREFETCH_MOST
PATIENCE = 60  # seconds of a machine that has time for it
LATE = 3  # exit status: the reader was faster than what is read ahead of it


def check(what, found, expected):
    if found != expected:
        sys.exit(f"fail: {what}: found {found!r}, expected {expected!r}")


def check_at_most(what, found, expected, more):
    if not expected <= found <= expected + more:
        sys.exit(f"fail: {what}: found {found}, expected {expected}, or up to {more} more")


def stats(mount):
    with open(os.path.join(mount, ".datasetfs", "stats.json"), encoding="utf-8") as file:
        return json.load(file)


def files_of(directory):
    return sorted(os.path.relpath(os.path.join(folder, name), directory)
                  for folder, _, names in os.walk(directory) for name in names if name != "link")


def shuffled(names):
    seed = int(os.environ.get("SEED") or random.randrange(1 << 30))
    print(f"- seed {seed}")
    return random.Random(seed).sample(names, len(names))


def content(path):
    with open(path, "rb") as file:
        return file.read()


def tell(mount, numbers, digest=None):
    return module.prefetch(datasetfs.Mount(mount), digest or datasetfs.Mount(mount).version["digest"],
                           array.array("Q", numbers))[:2]


def tell_all(mount, numbers):
    """Until all were taken; it takes them as fast as they are read."""
    patience = Patience(PATIENCE)
    taken = 0
    while taken < len(numbers):
        taken += tell(mount, numbers[taken:taken + MOST])[0]
        if patience.is_over():
            sys.exit(f"fail: {taken} of {len(numbers)} files were taken")


def settle(mount, files, field="prefetch_files"):
    """Until so many files were read ahead."""
    patience = Patience(PATIENCE)
    while stats(mount)[field] < files:
        if patience.is_over():
            sys.exit(f"fail: {field} is {stats(mount)[field]}, expected {files}")
        time.sleep(0.01)


def numbers_of(mount, names):
    return [os.stat(os.path.join(mount, name)).st_ino for name in names]


def save(mount, path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(dict(zip(files_of(mount), numbers_of(mount, files_of(mount)))), file)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def by_readers(counters):
    return counters["device_reads"] - counters["prefetch_reads"]


def replace(path, text):
    """In one step: whoever reads it meanwhile sees one or the other."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(path + ".new", path)


def compare(mount, source, names):
    for name in names:
        check(name, content(os.path.join(mount, name)), content(os.path.join(source, name)))


def known(mount, source):
    """The names were looked up: small files are in the page cache, and the others are kept."""
    names = shuffled(files_of(mount))
    tell_all(mount, numbers_of(mount, names))
    large = {name for name in names if os.path.getsize(os.path.join(source, name)) > 128 << 10}
    settle(mount, len(names))
    settle(mount, len(names) - len(large), "prefetch_stored")
    before = stats(mount)
    missing = 0
    for name in names:
        missing += 0 if name in large else absent(os.path.join(mount, name))
        compare(mount, source, [name])
    after = stats(mount)
    check_at_most("pages of stored files that the kernel took away", missing, 0, len(names) // 2)
    check_at_most("device reads for READs", by_readers(after), by_readers(before), missing)
    check("files that no READ came for", after["prefetch_dropped"], 0)
    if after["prefetch_served"] < len(large):
        sys.exit(f"fail: {after['prefetch_served']} READs from what is kept, expected {len(large)} files")
    reads = after["requests"].get("READ", 0) - before["requests"].get("READ", 0)
    check_at_most("READs", reads - 1, after["prefetch_served"], missing)  # one is that of the counters


def unknown(mount, source, path):
    """Nobody has looked a name up: all files are kept for their READ."""
    numbers = load(path)
    names = shuffled(sorted(numbers))
    tell_all(mount, [numbers[name] for name in names])
    settle(mount, len(names))
    before = stats(mount)
    check("files that are stored", before["prefetch_stored"], 0)
    compare(mount, source, names)
    after = stats(mount)
    check("device reads for READs", by_readers(after), by_readers(before))
    if after["prefetch_served"] < len(names):
        sys.exit(f"fail: {after['prefetch_served']} READs from what is kept, expected {len(names)} files")


def blocks(mount, source, size, most):
    """Every other block of neighbours, in a random order, was announced: few reads bring all of them, and no other."""
    names, size = files_of(mount), int(size)
    numbers = sorted(zip(numbers_of(mount, names), names))
    told = shuffled([numbers[at:at + size] for at in range(0, len(numbers), 2 * size)])
    told = [file for block in told for file in block]
    tell_all(mount, [number for number, _ in told])
    settle(mount, len(told))
    compare(mount, source, shuffled([name for _, name in told]))
    counters = stats(mount)
    check("files that were read ahead", counters["prefetch_files"], len(told))
    check("files that no READ came for, and reads that failed",
          (counters["prefetch_dropped"], counters["prefetch_failures"]), (0, 0))
    print(f"- {counters['prefetch_reads']} reads for {len(told)} files")
    if counters["prefetch_reads"] * int(most) > len(told):
        sys.exit(f"fail: {counters['prefetch_reads']} reads for {len(told)} files, expected one for {most}")


class Folder:
    """As ImageFolder has it."""

    def __init__(self, mount):
        self.samples = [(os.path.join(mount, name), 0) for name in files_of(mount)]


class Batches:
    def __init__(self, count, size):
        self.order = shuffled(list(range(count)))
        self.size = size

    def __iter__(self):
        for at in range(0, len(self.order), self.size):
            yield self.order[at:at + self.size]


def epoch(mount, source, told):
    """Two epochs of a loop that waits for nothing: the same order, the same bytes, fewer reads of its own."""
    dataset = Folder(mount)
    batches = Batches(len(dataset.samples), 16)
    sampler = datasetfs.PrefetchSampler(batches, mount, dataset, batches_ahead=8) if told == "told" else batches
    order = []
    for batch in sampler:
        order.append(batch)
        for index in batch:
            path = dataset.samples[index][0]
            check(path, content(path), content(os.path.join(source, os.path.relpath(path, mount))))
    check("order", order, list(batches))
    counters = stats(mount)
    if told != "told":
        check("files that were announced", counters["prefetch_announced"], 0)
        return
    check("files that were announced", counters["prefetch_announced"], len(dataset.samples))
    # Without io_uring a thread reads one place at a time, and is no faster than a reader.
    if counters["io"] == "uring" and by_readers(counters) > len(dataset.samples) // 2:
        print(f"- {by_readers(counters)} of {len(dataset.samples)} files were read by READs all the same")
        sys.exit(LATE)


class Windows(Batches):
    """Blocks of 8 in windows of 64, as PrefetchSampler wants them; batches of 16."""
    mixes_blocks = True

    def __init__(self, count):
        blocks = shuffled([range(at, min(at + 8, count)) for at in range(0, count, 8)])
        self.windows = [[index for block in blocks[at:at + 8] for index in block] for at in range(0, len(blocks), 8)]
        self.order = [index for window in self.windows for index in shuffled(window)]
        self.size = 16

    def windows_of(self, batch):
        first = next(number for number, window in enumerate(self.windows) if batch[0] in window)
        return [(0, number) for number in range(first, min(first + 2, len(self.windows)))]

    def window(self, name):
        return self.windows[name[1]]


def killed(mount, source):
    """A server dies in the middle of an epoch: the next one is told of the windows that are not over."""
    dataset = Folder(mount)
    order = Windows(len(dataset.samples))
    for number, batch in enumerate(datasetfs.PrefetchSampler(order, mount, dataset, batches_ahead=1)):
        if number == 5:
            os.kill(stats(mount)["server_pid"], signal.SIGKILL)
        compare(mount, source, [os.path.relpath(dataset.samples[index][0], mount) for index in batch])
    counters = stats(mount)
    check("restarts", counters["restarts"], 1)
    # The two windows of that moment may be told again, as it is not known which server took them, and the kernel sends
    # the command once more when the last thread of the dead server is gone.
    check_at_most("files that the second server was told of", counters["prefetch_announced"],
                  sum(map(len, order.windows[1:])), 2 * sum(map(len, order.windows[1:3])))


def bounded(mount, source, path, most):
    """Takes all of them, keeps as many as may be kept, and reads the next when those were read."""
    numbers = load(path)
    names = sorted(numbers)
    check("taken", tell(mount, [numbers[name] for name in names])[0], len(names))
    settle(mount, int(most) // 2 // 1000000)
    before = by_readers(stats(mount))
    for number, name in enumerate(names):
        # Reads may end in another order than they began, and at most so many are under way.
        settle(mount, min(number + int(most) // 2 // 1000000, len(names)))
        kept = stats(mount)["prefetch_files"] - number
        if kept * 1000000 > int(most):
            sys.exit(f"fail: {kept} files are kept, {most} bytes may be")
        compare(mount, source, [name])
    check("files that were pushed out", stats(mount)["prefetch_dropped"], 0)
    check("device reads for READs", by_readers(stats(mount)), before)


def asked(mount, source, path, most):
    """A READ of a file that waits for room brings it itself, and then it waits no more."""
    numbers = load(path)
    names = sorted(numbers)
    tell(mount, [numbers[name] for name in names])
    settle(mount, int(most) // 2 // 1000000)
    compare(mount, source, names[::-1])
    check("files that came by either way", stats(mount)["prefetch_files"] + by_readers(stats(mount)), len(names))


def starved(mount, path):
    """Without memory for the daemon: it says so as soon as it has looked, and reads nothing."""
    numbers = list(load(path).values())
    patience = Patience(PATIENCE)
    while tell(mount, numbers) != (0, 0):
        if patience.is_over():
            sys.exit("fail: files are taken, and there is no memory")
    check("files that were read", stats(mount)["prefetch_files"], 0)


def fed(mount, path):
    """And when there is some again, it finds that out by itself."""
    numbers = list(load(path).values())
    patience = Patience(PATIENCE)
    while tell(mount, numbers[:1])[0] == 0:
        if patience.is_over():
            sys.exit("fail: no file is taken, and there is memory")
        time.sleep(0.05)
    settle(mount, 1)


def is_kept_below(mount, most):
    """Of files of a megabyte each."""
    counters = stats(mount)
    return (counters["prefetch_files"] - counters["prefetch_dropped"]) * 1000000 <= most


def join(group):
    with open(group, "w", encoding="utf-8") as file:
        file.write(str(os.getpid()))


def peak(group):
    """Bytes that processes of this control group had at once."""
    for name in "memory.peak", "memory.max_usage_in_bytes":
        with contextlib.suppress(OSError):
            return int(content(os.path.join(group, name)))
    return 0  # not counted here


def anonymous(process):
    """Bytes of a process that no file has."""
    with open(f"/proc/{process}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon:"))


def crowd(mount, source, limit, process, group):
    """Users who announce more than there is memory: what they get is a part of it, also when that becomes less."""
    names, users, limit, hog = files_of(mount), 8, int(limit), 150 << 20
    numbers, others = numbers_of(mount, names), 16 << 20  # which headroom.c leaves for everything else
    for user in range(users):
        os.seteuid(1001 + user)
        check("taken", tell(mount, numbers[user::users])[0], len(numbers[user::users]))
        os.seteuid(0)
    settle(mount, (limit // 4 - others) // 2000000)
    if not is_kept_below(mount, limit // 4):
        sys.exit(f"fail: {stats(mount)['prefetch_files']} files are kept, {limit} bytes may be taken")
    if peak(group) > limit // 4 + others:
        sys.exit(f"fail: {peak(group)} of {limit} bytes were taken, expected a quarter for what is read ahead")
    program = f"import sys; all = b'x' * {hog}; print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          preexec_fn=lambda: join(os.path.join(group, "cgroup.procs"))) as other:
        other.stdout.readline()
        patience = Patience(PATIENCE)
        while not is_kept_below(mount, (limit - hog) // 4) or anonymous(process) > (limit - hog) // 4 + others:
            if patience.is_over():
                sys.exit(f"fail: {anonymous(process)} bytes beside another process: {stats(mount)}")
            time.sleep(0.05)
        other.stdin.close()
    compare(mount, source, names)


def owed(mount, source, hold):
    """READs that the device keeps, more than the thread that reads ahead once noted: it stores none of their files,
    as that would wait for them, and goes on."""
    names = [f"c{folder}/f{i}" for folder in range(4) for i in range(30, 59)]
    numbers = numbers_of(mount, names + ["c3/f59"])
    replace(hold, "0 99999999999")
    failed = []
    threading.excepthook = lambda args: failed.append(str(args.exc_value))
    readers = [threading.Thread(target=compare, args=(mount, source, [name]), daemon=True) for name in names]
    for reader in readers:
        reader.start()
    patience = Patience(PATIENCE)
    while not os.path.exists(hold + ".held") or os.path.getsize(hold + ".held") < len(names):
        if patience.is_over():
            sys.exit("fail: the device does not keep so many READs")
        time.sleep(0.01)
    replace(hold, "keep")
    tell_all(mount, numbers[:-1])
    settle(mount, len(names))
    tell_all(mount, numbers[-1:])
    settle(mount, len(names) + 1)
    settle(mount, 1, "prefetch_stored")
    check("files that were stored", stats(mount)["prefetch_stored"], 1)
    os.unlink(hold)
    for reader in readers:
        reader.join()
    if failed:
        sys.exit("fail: " + failed[0])


def orphans(mount, path):
    numbers = load(path)
    tell_all(mount, list(numbers.values()))
    settle(mount, len(numbers))
    check("dropped at once", stats(mount)["prefetch_dropped"], 0)


def damaged(mount, source, name):
    """All were announced; only the damaged one cannot be read."""
    names = files_of(mount)
    tell_all(mount, numbers_of(mount, names))
    patience = Patience(PATIENCE)
    while not stats(mount)["prefetch_failures"] and not patience.is_over():
        time.sleep(0.01)
    check("reads ahead that failed", stats(mount)["prefetch_failures"], 1)
    check("READs that failed before anybody read", stats(mount)["read_failures"], 0)
    check("mismatches before anybody read", stats(mount)["checksum_failures"], 0)
    settle(mount, len(names) - 1)  # those that were to be read with it are read again
    compare(mount, source, [other for other in names if other != name])
    try:
        content(os.path.join(mount, name))
    except OSError as error:
        check("errno", error.errno, errno.EIO)
        counters = stats(mount)
        check("mismatches, two for each READ", counters["checksum_failures"], 2 * counters["read_failures"])
        return
    sys.exit("fail: a damaged file was read")


def refused(mount, code, *numbers_and_digest):
    """refused MOUNT ERRNO DIGEST NUMBER…: and the reason is printed"""
    digest, *numbers = numbers_and_digest
    try:
        tell(mount, [int(number, 0) for number in numbers], digest or None)
    except OSError as error:
        check(f"errno ({error})", errno.errorcode[error.errno], code)
        if error.strerror == os.strerror(error.errno):
            sys.exit("fail: no reason")
        print(error.strerror)
        return
    sys.exit("fail: it was not refused")


def allowed(mount, *numbers):
    check("taken", tell(mount, [int(number) for number in numbers])[0], len(numbers))


def raw(mount, command, number=module.DSFS_IOC_PREFETCH):
    """Returns errno, what was taken, and the reason."""
    fd = os.open(os.path.join(mount, ".datasetfs", "control"), os.O_RDONLY)
    code = 0
    try:
        fcntl.ioctl(fd, number, command, True)
    except OSError as error:
        code = error.errno
    finally:
        os.close(fd)
    words = module.HEAD.unpack_from(command)
    return code, words[3], words[7].split(b"\0")[0].decode()


def make(digest, numbers, flags=0, count=None):
    command = bytearray(module.HEAD.size + 8 * MOST)
    module.HEAD.pack_into(command, 0, flags, len(numbers) if count is None else count,
                          bytes.fromhex(digest[7:]), 9, 9, 9, 9, b"left")
    command[module.HEAD.size:module.HEAD.size + 8 * len(numbers)] = array.array("Q", numbers).tobytes()
    return command


def greedy(mount, number):
    """A command for each file, all of them the same."""
    command = make(datasetfs.Mount(mount).version["digest"], [int(number)])
    for _ in range(600):
        check("taken", raw(mount, bytearray(command))[1], 1)


def hostile(mount, source, rounds):
    digest = datasetfs.Mount(mount).version["digest"]
    names = files_of(mount)
    number = numbers_of(mount, names[:1])[0]
    folder, sequence = os.stat(os.path.join(mount, os.path.dirname(names[0]))).st_ino, number >> 40
    link = os.lstat(os.path.join(mount, "link")).st_ino
    for what, command, code, reason in (
            ("flags", make(digest, [number], flags=8), errno.EINVAL, "unknown flags 0x8"),
            ("count", make(digest, [], count=MOST + 1), errno.EINVAL, f"{MOST + 1} files, expected at most {MOST}"),
            ("count", make(digest, [], count=0xffffffff), errno.EINVAL, "4294967295 files"),
            ("digest", make("sha256:" + "00" * 32, [number]), errno.ESTALE, "another digest"),
            ("a directory", make(digest, [number, folder]), errno.EACCES, "no regular file"),
            ("the root", make(digest, [1]), errno.EACCES, "no regular file"),
            ("a link", make(digest, [link]), errno.EACCES, "no regular file"),
            ("out of range", make(digest, [sequence << 40 | (1 << 40) - 1]), errno.EACCES, "no regular file"),
            ("no ordinal", make(digest, [sequence << 40]), errno.EACCES, "no regular file"),
            ("another version", make(digest, [number + (1 << 40)]), errno.ESTALE, "is no file of version"),
            ("another node", make(digest, [number | 1 << 63]), errno.ESTALE, "is no file of version"),
            ("all bits", make(digest, [(1 << 64) - 1]), errno.ESTALE, "is no file of version")):
        found = raw(mount, command)
        check(what, found[:2], (code, 0))
        if reason not in found[2]:
            sys.exit(f"fail: {what}: the reason is {found[2]!r}")
    check("nothing was taken", stats(mount)["prefetch_announced"], 0)
    # Smaller and larger structs are other commands.
    for size in (8, module.HEAD.size, module.HEAD.size + 8 * MOST - 8, (1 << 14) - 1):
        other = module.DSFS_IOC_PREFETCH & ~(0x3fff << 16) | size << 16
        check(f"a struct of {size} bytes", raw(mount, bytearray(1 << 14), other)[0], errno.ENOTTY)
    # Duplicates, nothing, and numbers without a version are fine.
    check("nothing", raw(mount, make(digest, []))[:2], (0, 0))
    check("zeros", raw(mount, make(digest, [0] * MOST))[:2], (0, MOST))
    check("duplicates", raw(mount, make(digest, [number] * MOST))[:2], (0, MOST))
    check("ordinals", raw(mount, make(digest, [number & (1 << 40) - 1]))[:2], (0, 1))
    garbage(mount, digest, number, int(rounds))
    compare(mount, source, names[:100])


def garbage(mount, digest, number, rounds):
    seed = int(os.environ.get("SEED") or random.randrange(1 << 30))
    print(f"- seed {seed}")
    rng = random.Random(seed)
    allowed = {0, errno.EINVAL, errno.ESTALE, errno.EACCES}
    for _ in range(rounds):
        command = make(digest, [number] * rng.randrange(MOST))
        for _ in range(rng.randrange(1, 9)):
            command[rng.choice((rng.randrange(8), rng.randrange(len(command))))] = rng.randrange(256)
        code = raw(mount, command)[0]
        if code not in allowed:
            sys.exit(f"fail: garbage gives {os.strerror(code)}")


globals()[sys.argv[1]](*sys.argv[2:])
