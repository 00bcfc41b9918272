# SPDX-License-Identifier: MIT
"""Versions of a mounted datasetfs, from Python: which one is served, prepare the next, switch to it."""
from .mount import Mount, SwitchError, Version
from .barrier import epoch_barrier

__all__ = ["Mount", "SwitchError", "Version", "epoch_barrier"]
