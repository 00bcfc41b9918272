# SPDX-License-Identifier: MIT
"""Trees for --order, and what the table of places must say of them.

usage: order.py make TREE [SALT]              SALT: other contents, and one class more
       order.py check TREE random|tree [OLD] <FILE
                                              FILE: of 'library-tree VOLUME placed'. OLD: tree of the version before;
                                              what is new is mixed among itself, and so is the rest
"""
import collections
import filecmp
import os
import random
import sys

CLASSES, FILES, BLOCK = 8, 384, 64
LARGE = 1 << 20


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def make(tree, salt=""):
    """Sorted by class, each with files of all kinds; every 16th has the content of another class's."""
    for number in range(CLASSES + bool(salt)):
        folder = f"{tree}/class{number}"
        os.makedirs(folder, exist_ok=True)
        for i in range(FILES):
            if salt and i % 3 and number < CLASSES:
                continue
            rng = random.Random(f"{salt} {i} {number if i % 16 else 0}")
            size = 0 if i % 40 == 7 else rng.choice((40, 100, 700, 3000, 5000, 9000, 20000))
            text = b"text of no great wit\n" * (size // 42)
            write(f"{folder}/f{i:03}", text + rng.randbytes(size - len(text)))
    rng = random.Random(salt)
    for i in range(4):
        write(f"{tree}/class{i}/large", rng.randbytes(LARGE + i * 300000))
    with open(f"{tree}/class1/holes", "wb") as file:
        file.seek(300000)
        file.write(rng.randbytes(100000))
    if not salt:
        os.link(f"{tree}/class2/f003", f"{tree}/class5/link")
        os.symlink("f001", f"{tree}/class2/symlink")


def files_of(tree):
    """First names, breadth first: a file's further names come later in that order, too."""
    found, inodes = [], set()
    for folder, folders, names in os.walk(tree):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            st = os.lstat(path)
            if not os.path.islink(path) and st.st_ino not in inodes:
                inodes.add(st.st_ino)
                found.append((os.path.relpath(path, tree), st.st_size))
    return found


def deviation(classes):
    """How many standard deviations the classes of blocks are from an even mixture: chi-square, less its mean."""
    share = {name: count / len(classes) for name, count in collections.Counter(classes).items()}
    blocks = [classes[at:at + BLOCK] for at in range(0, len(classes) - BLOCK + 1, BLOCK)]
    square = sum((block.count(name) - BLOCK * part) ** 2 / (BLOCK * part)
                 for block in blocks for name, part in share.items())
    degrees = (len(blocks) - 1) * (len(share) - 1)
    return (square - degrees) / (2 * degrees) ** 0.5


def is_new(tree, old, path):
    return not os.path.exists(f"{old}/{path}") or not filecmp.cmp(f"{tree}/{path}", f"{old}/{path}", shallow=False)


def check_mixture(tree, old, rows):
    placed = [row for row in rows if row[1] != "-" and int(row[0]) <= LARGE]
    parts = {"others": [row for row in rows if row[1] == "-"]}
    if old:
        new = [is_new(tree, old, path) for _, _, _, path in placed]
        parts["new"] = [row for row, that in zip(placed, new) if that]
        parts["old"] = [row for row, that in zip(placed, new) if not that]
    else:
        parts |= {"all": rows, "placed": placed}
    for what, chosen in parts.items():
        found = deviation([path.split("/")[0] for _, _, _, path in chosen])
        if not -4 < found < 4:
            sys.exit(f"classes of {what} files deviate by {found:.1f} from an even mixture")


def check(tree, order, old=None):
    rows = [line.split(" ", 3) for line in sys.stdin.read().splitlines()]
    expected = files_of(tree)
    if sorted((path, int(size)) for size, _, _, path in rows) != sorted(expected):
        sys.exit(f"{len(rows)} files by place, the tree has {len(expected)}, or other ones")
    classes = [path.split("/")[0] for _, _, _, path in rows]
    if order == "tree":
        if [path for _, _, _, path in rows] != [path for path, _ in expected]:
            sys.exit("the files are not in the order of ids")
        if deviation(classes) < 50:
            sys.exit(f"classes deviate only by {deviation(classes):.1f} from an even mixture: the test is blind")
        return
    places = [(int(member), int(offset)) for size, member, offset, _ in rows if member != "-" and int(size) <= LARGE]
    if places != sorted(places) or len(places) < len(rows) / 2:
        sys.exit(f"{len(places)} of {len(rows)} files have a place, and these are not in the order of places")
    check_mixture(tree, old, rows)
    ranks = [i for i, row in enumerate(rows) if row[1] == "-" or int(row[0]) > LARGE]
    middle = sum(ranks) / len(ranks) / len(rows)
    if not 0.4 < middle < 0.6:
        sys.exit(f"files without a place are at {middle:.2f} of the order on average")


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](*sys.argv[2:])
