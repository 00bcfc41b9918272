# SPDX-License-Identifier: MIT
"""datasetfs from Python: files read past the kernel's file system, data sets and a sampler for torch, versions that are
published, compared and served."""
from importlib import metadata as _metadata

from . import library as _library
from .barrier import epoch_barrier
from .collate import Contents, collate_bytes
from .dataset import DataSet, ImageFolder
from .mount import Mount, SwitchError, Version
from .paths import read, read_many
from .prefetch import PrefetchSampler
from .programs import CommandError
from .publisher import Publisher
from .reader import Reader
from .register import register as _register
from .sampler import Sampler
from .volume import describe, diff, switch, verify, versions

_register()
__version__: str


def __getattr__(name):
    """__version__: of the wheel, or of the library where the package was installed without one."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return _metadata.version(__name__)
    except _metadata.PackageNotFoundError:
        return _library.library().dsfs_release().decode()


__all__ = ["CommandError", "Contents", "DataSet", "ImageFolder", "Mount", "PrefetchSampler", "Publisher", "Reader",
           "Sampler", "SwitchError", "Version", "collate_bytes", "describe", "diff", "epoch_barrier", "read",
           "read_many", "switch", "verify", "versions"]
