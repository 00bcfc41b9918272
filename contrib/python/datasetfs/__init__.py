# SPDX-License-Identifier: MIT
"""A mounted datasetfs from Python: files read past the kernel's file system, data sets and a sampler for torch, and
which version is served."""
from .barrier import epoch_barrier
from .collate import Contents, collate_bytes
from .dataset import DataSet, ImageFolder
from .mount import Mount, SwitchError, Version
from .paths import read, read_many
from .prefetch import PrefetchSampler
from .reader import Reader
from .sampler import Sampler

__all__ = ["Contents", "DataSet", "ImageFolder", "Mount", "PrefetchSampler", "Reader", "Sampler", "SwitchError",
           "Version", "collate_bytes", "epoch_barrier", "read", "read_many"]
