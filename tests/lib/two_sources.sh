# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Sources of the two versions between which tests/fuse/switch.py reads.

# two_sources: source0 and source1, with files that both have and files that one of them has
two_sources() {
    python3 - <<'END'
import os, random
rng = random.Random(4)
for version in range(2):
    for number in range(120):
        if number % 10 == 3 + version:
            continue
        folder = ["", "a/", "b/deep/", f"only{version}/"][number % 4]
        path = f"source{version}/{folder}{number}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(bytes(f"{version}.{number} ", "ascii") * rng.choice([1, 30, 700, 9000, 40000]))
END
}
