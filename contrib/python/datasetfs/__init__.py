# SPDX-License-Identifier: MIT
"""Versions of a mounted datasetfs, from Python: which one is served, prepare the next, switch to it; and a sampler."""
from .barrier import epoch_barrier
from .mount import Mount, SwitchError, Version
from .sampler import Sampler

__all__ = ["Mount", "Sampler", "SwitchError", "Version", "epoch_barrier"]
