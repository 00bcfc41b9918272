# SPDX-License-Identifier: MIT
"""One rank of a barrier between two epochs; prints which label it serves then, and why not another.

usage: rank.py RANK RANKS MEETING MOUNT"""
import datetime
import os
import sys

import torch.distributed as dist

sys.path.insert(0, os.path.join(os.environ["DATASETFS_SOURCE"], "contrib", "python"))
from datasetfs import Mount, epoch_barrier  # noqa: E402

rank, ranks, meeting, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks,
                        timeout=datetime.timedelta(seconds=200))
print(*epoch_barrier(Mount(path)))
