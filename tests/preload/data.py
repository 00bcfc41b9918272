# SPDX-License-Identifier: MIT
"""Makes the data sets on which tests/preload/ runs programs: data.py TREE OUTSIDE KIND…
The same tree in every run; OUTSIDE is a directory beside it, to which some of its links lead."""
import gzip
import io
import lzma
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import zipfile

WORDS = "alpha beta gamma delta needle omega, sigma; tau 42 3.5 -7 0x1f".split()
SIZES = (0, 1, 2, 511, 512, 513, 4095, 4096, 4097, 8192, 16384, 65535, 65536, 65537, 131072, 131073, 262145, 1048576)


def text(rng, lines):
    return "".join(f"{n} {' '.join(rng.choices(WORDS, k=rng.randint(0, 12)))}\n" for n in range(lines)).encode()


def put(path, content, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, mode)


def texts(tree, rng):
    for number in range(60):
        put(f"{tree}/text/{number % 5}/{number:03}.txt", text(rng, rng.randint(1, 400)))
    put(f"{tree}/text/big.txt", text(rng, 30000))
    put(f"{tree}/text/no-end.txt", b"first\nsecond\nlast without an end")
    put(f"{tree}/text/crlf.txt", b"one\r\ntwo\r\n\r\nthree")
    put(f"{tree}/text/latin1.txt", "Ünïcödé\n".encode("latin-1") * 20)
    put(f"{tree}/text/utf-8.txt", "Ünïcödé ☃ line\n".encode() * 2000)
    put(f"{tree}/text/table.csv", "".join(f"{n},{n * n % 97},{'ab'[n % 2]}\n" for n in range(3000)).encode())
    put(f"{tree}/text/numbers", "".join(f"{n} {n / 8} word{n}\n" for n in range(500)).encode())


def sizes(tree, rng):
    for size in SIZES:
        put(f"{tree}/sizes/{size}", rng.randbytes(size))
    put(f"{tree}/sizes/3M", rng.randbytes(3 * 1048576 + 7))
    put(f"{tree}/sizes/zeros", bytes(100000))
    put(f"{tree}/sizes/compressible", text(rng, 10000))
    os.makedirs(f"{tree}/holes")
    for name, size, pieces in ("middle", 2097152, (1048576,)), ("all", 1048576, ()), ("ends", 1000000, (0, 995328)), \
            ("many", 700000, range(0, 700000, 65536)):
        with open(f"{tree}/holes/{name}", "wb") as file:
            for place in pieces:
                file.seek(place)
                file.write(rng.randbytes(4096))
            file.truncate(size)


def links(tree, outside, rng):
    put(f"{outside}/file", b"outside\n")
    put(f"{outside}/folder/file", b"outside, deeper\n")
    put(f"{tree}/links/plain", text(rng, 50))
    put(f"{tree}/links/folder/file", text(rng, 20))
    put(f"{tree}/links/folder/deep/er/file", text(rng, 10))
    os.link(f"{tree}/links/plain", f"{tree}/links/hard")
    os.link(f"{tree}/links/plain", f"{tree}/links/folder/hard")
    for name, target in (
            ("soft", "plain"), ("soft-soft", "soft"), ("to-folder", "folder"), ("to-deep", "to-folder/deep/er/file"),
            ("dangling", "missing"), ("loop", "loop"), ("ping", "pong"), ("pong", "ping"), ("up", ".."), ("self",
                "."),
            ("around", "folder/../folder//./file"), ("out", f"{outside}/file"), ("out-folder", f"{outside}/folder"),
            ("out-near", "../../outside/file"), ("out-and-back", f"../../{os.path.basename(tree)}/links/plain"),
            ("proc", "/proc/self/fd/0"), ("null", "/dev/null")):
        os.symlink(target, f"{tree}/links/{name}")
    os.symlink("../mnt/links/plain", f"{outside}/into")
    os.symlink("../mnt/links", f"{outside}/into-folder")


def modes(tree):
    # Only root can pack what he may not read.
    needed = 0 if os.geteuid() == 0 else 0o400
    for mode in 0o000, 0o200, 0o400, 0o111, 0o444, 0o555, 0o600, 0o640, 0o4755, 0o2755, 0o1644, 0o666:
        if mode & needed == needed:
            put(f"{tree}/modes/{mode:04o}", b"mode %o\n" % mode, mode)
    for mode in 0o000, 0o111, 0o444, 0o700, 0o1777:
        if not needed or mode & 0o500 == 0o500:
            put(f"{tree}/modes/folder-{mode:04o}/file", b"in it\n")
            os.chmod(f"{tree}/modes/folder-{mode:04o}", mode)
    put(f"{tree}/modes/script", b"#!/bin/sh\necho \"script $0 $*\"\n"
        b"read -r line <\"${0%/*}/0444\"; echo $?\ncat\n", 0o755)


def names(tree):
    for name in b"with space", b"-dash", b"new\nline", b"quote'\"", b"\xff\xfe", "☃.txt".encode(), b"back\\slash", \
            b"*", b"n" * 255, b".hidden", b"...", b"~", b"a:b", b"$HOME":
        put(os.fsencode(tree) + b"/names/" + name, b"name " + name + b"\n")
    put(f"{tree}/names/" + "/".join(["deep"] * 40) + "/file", b"at the bottom\n")
    os.makedirs(f"{tree}/empty")
    for number in range(300):
        put(f"{tree}/many/{number:04}", b"%d\n" % number * (number % 50))


def archives(tree, rng):
    data = text(rng, 5000)
    os.makedirs(f"{tree}/archives")
    with zipfile.ZipFile(f"{tree}/archives/a.zip", "w") as archive:
        for number in range(20):
            info = zipfile.ZipInfo(f"folder/{number}", (2020, 1, 2, 3, 4, 6))
            archive.writestr(info, data[:number * 1000], (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)[number % 2])
        archive.writestr(zipfile.ZipInfo("zipped_module.py", (2020, 1, 2, 3, 4, 6)), "VALUE = 'from a zip'\n")
    for name, mode in ("a.tar", "w"), ("a.tar.gz", "w:gz"), ("a.tar.xz", "w:xz"):
        with tarfile.open(f"{tree}/archives/{name}", mode) as archive:
            for number in range(10):
                info = tarfile.TarInfo(f"folder/{number}")
                info.size = number * 3000
                archive.addfile(info, io.BytesIO(data[:info.size]))
    put(f"{tree}/archives/text.gz", gzip.compress(data, mtime=0))
    put(f"{tree}/archives/text.xz", lzma.compress(data))
    if shutil.which("zstd"):
        subprocess.run(["zstd", "-q", "-o", f"{tree}/archives/text.zst"], input=data, check=True)


def modules(tree):
    put(f"{tree}/modules/package/__init__.py", b"from .part import VALUE\n")
    put(f"{tree}/modules/package/part.py", b"VALUE = 'from a package'\nprint(VALUE)\n")
    put(f"{tree}/modules/package/data.txt", b"data of a package\n")
    put(f"{tree}/modules/script.py", b"import sys\nprint('script', sys.argv[1:], open(__file__).read().count('\\n'))\n")
    put(f"{tree}/modules/script.sh", b"echo one\nread -r line <\"$0\"\necho \"$line $0 $*\"\nexec 3<\"$0\"\n"
        b"cat <&3 | wc -c\necho last\n" + b"# filler\n" * 3000 + b"echo end\n")


def headers(tree):
    for number in range(80):
        others = "".join(f'#include "part{other}.h"\n' for other in range(number + 1, min(number + 4, 80)))
        put(f"{tree}/include/part{number}.h", (f"#ifndef PART{number}\n#define PART{number} {number}\n{others}"
            f"static inline int part{number}(int x) {{ return x * {number} + PART{number}; }}\n#endif\n").encode())
    put(f"{tree}/include/all.c", b'#include <stdio.h>\n#include "part0.h"\n#include "part50.h"\n'
        b'int main(void) { printf("%d\\n", part0(1) + part79(2)); return 0; }\n')


def database(tree):
    os.makedirs(f"{tree}/db")
    connection = sqlite3.connect(f"{tree}/db/data.db")
    connection.execute("create table samples (id integer primary key, name text unique, value real)")
    connection.executemany("insert into samples values (?, ?, ?)", ((n, f"name{n * 7919 % 5000}", n / 3)
                                                                     for n in range(5000)))
    connection.commit()
    connection.close()


def git(*arguments):
    base = {name: "2020-01-02T03:04:05Z" for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE")}
    subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main",
                    *arguments], check=True, env={**os.environ, **base})


def repository(tree, rng):
    work = f"{tree}/repository"
    os.makedirs(work)
    git("init", "-q", work)
    for commit in range(4):
        for number in range(15):
            put(f"{work}/folder{number % 3}/file{number}", text(rng, 50 + commit * number))
        git("-C", work, "add", ".")
        git("-C", work, "commit", "-q", "-m", f"commit {commit}")
        if commit == 1:
            git("-C", work, "gc", "-q")
    git("-C", work, "tag", "-a", "-m", "a tag", "one")


def images(tree, rng):
    import numpy
    from PIL import Image
    numbers = numpy.random.default_rng(1)
    for kind, count in ("ant", 16), ("bee", 20), ("cow", 12):
        os.makedirs(f"{tree}/images/{kind}")
        for number in range(count):
            size = rng.randint(8, 90), rng.randint(8, 90)
            image = Image.fromarray(numbers.integers(0, 256, (*size, 3), dtype=numpy.uint8)).resize((64, 48))
            image.save(f"{tree}/images/{kind}/{number:02}.{('png', 'jpg')[number % 2]}")
    os.makedirs(f"{tree}/arrays")
    numpy.save(f"{tree}/arrays/floats.npy", numbers.random((200, 300)))
    numpy.save(f"{tree}/arrays/bytes.npy", numbers.integers(0, 256, 700001, dtype=numpy.uint8))


def settle(tree):
    """Times that do not vary, the same for no two files."""
    paths = [os.path.join(folder, name) for folder, _, files in os.walk(os.fsencode(tree)) for name in [*files, b"."]]
    for number, path in enumerate(sorted(paths, reverse=True)):
        when = 1_400_000_000_000_000_000 + number * 1_000_003
        os.utime(path, ns=(when, when), follow_symlinks=False)


def main():
    tree, outside = map(os.path.abspath, sys.argv[1:3])
    os.makedirs(tree)
    rng = random.Random(1)
    kinds = {
        "files": lambda: (texts(tree, rng), sizes(tree, rng), links(tree, outside, rng), names(tree)),
        "modes": lambda: modes(tree), "archives": lambda: archives(tree, rng), "modules": lambda: modules(tree),
        "headers": lambda: headers(tree), "database": lambda: database(tree),
        "repository": lambda: repository(tree, rng), "images": lambda: images(tree, rng)}
    for kind in sys.argv[3:]:
        kinds[kind]()
    settle(tree)


main()
