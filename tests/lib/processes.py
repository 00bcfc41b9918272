# SPDX-License-Identifier: MIT
"""Looks into processes."""
import pathlib


def children(process):
    return [int(word) for word in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def memory(process):
    """All that the process may write, and so its environment."""
    found = []
    with open(f"/proc/{process}/mem", "rb", buffering=0) as file:
        for line in pathlib.Path(f"/proc/{process}/maps").read_text().splitlines():
            begin, end = (int(word, 16) for word in line.split()[0].split("-"))
            if line.split()[1].startswith("rw") and end - begin < 1 << 28:
                try:
                    file.seek(begin)
                    found.append(file.read(end - begin))
                except OSError:
                    pass
    return b"".join(found)
