# SPDX-License-Identifier: MIT
"""For memory.sh: an epoch of 16 workers, and the sum of their private memory as it goes on."""
import sys
import time

from torch.utils.data import DataLoader

import datasetfs
from checks import as_it_is

WORKERS, BATCH, LOOKS = 16, 100, 20
GROWTH = 512  # KiB of a worker between a tenth of an epoch and its end, at most


def private(processes):
    """KiB that belong to one of them alone."""
    total = 0
    for process in processes:
        with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith(("Private_", "Swap:")))
    return total


def main():
    begun = time.monotonic()
    data = datasetfs.DataSet(sys.argv[1])
    opened = time.monotonic() - begun
    sampler = datasetfs.Sampler(data, batch_size=BATCH)
    loader = iter(DataLoader(data, batch_size=None, sampler=sampler, num_workers=WORKERS, collate_fn=as_it_is))
    processes = [worker.pid for worker in loader._workers]
    total, looks, every = 0, [], max(1, len(data) // BATCH // LOOKS)
    for number, batch in enumerate(loader):
        total += len(batch)
        if number == 0:
            print(f"opened in {opened:.2f} s, first batch after {time.monotonic() - begun:.2f} s", flush=True)
        if number % every == every - 1:
            looks.append(private(processes))
    print(f"{total} files in {time.monotonic() - begun:.0f} s; KiB private to a worker: "
          + " ".join(str(look // WORKERS) for look in looks))
    if total != int(sys.argv[2]) or len(looks) < 10:
        sys.exit(f"fail: {total} files, {len(looks)} looks at memory")
    if looks[-2] - looks[1] > GROWTH * WORKERS:
        sys.exit(f"fail: memory grew by {(looks[-2] - looks[1]) // WORKERS} KiB a worker")


if __name__ == "__main__":
    main()
