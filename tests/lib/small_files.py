# SPDX-License-Identifier: MIT
"""Makes many small files and some large ones: small_files.py DIRECTORY SEED COUNT LARGE."""
import os
import random
import sys

LARGE_BYTES = 3_000_000


def main():
    folder, (seed, count, large) = sys.argv[1], map(int, sys.argv[2:])
    rng = random.Random(seed)
    sizes = {str(number): lambda: 200 + min(100_000, int(rng.lognormvariate(8.6, 0.9))) for number in range(count)}
    sizes |= {f"large{number}": lambda: LARGE_BYTES for number in range(large)}
    os.makedirs(folder)
    for name, size in sizes.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(rng.randbytes(size()))


main()
