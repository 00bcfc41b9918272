# SPDX-License-Identifier: MIT
"""Makes files of one chunk, some of them compressible, and of several: mixed_files.py FOLDER SEED COUNT."""
import os
import random
import sys

SIZES = (6000, 20000, 100000, 130000, 131072, 131073, 300000)


def main():
    folder, (seed, count) = sys.argv[1], map(int, sys.argv[2:])
    rng = random.Random(seed)
    os.makedirs(folder, exist_ok=True)
    for number in range(count):
        size = rng.choice(SIZES) + rng.randrange(900)
        data = rng.randbytes(size) if number % 3 else (rng.randbytes(5000) * 70)[:size]
        with open(os.path.join(folder, f"{number:03}"), "wb") as file:
            file.write(data)


main()
