# SPDX-License-Identifier: MIT
"""Makes files, or replaces a share of them by others: replaced_files.py DIRECTORY COUNT SEED SALT SHARE. Half of each
can be compressed."""
import os
import random
import sys


def main():
    folder, (count, seed, salt), share = sys.argv[1], map(int, sys.argv[2:5]), float(sys.argv[5])
    rng = random.Random(f"{seed} {salt}")
    os.makedirs(folder, exist_ok=True)
    for i in range(count):
        size = rng.choice((100, 3000, 5000, 40000, 150000))
        if rng.random() < share:
            with open(os.path.join(folder, f"f{i}"), "wb") as out:
                out.write(rng.randbytes(size // 2) + b"text of no great wit\n" * (size // 42))


main()
