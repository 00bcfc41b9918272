# SPDX-License-Identifier: MIT
"""Tells fsspec of the filesystem where no entry point of an installed package does. fsspec is not imported for it."""
import sys

NAME = "fsspec"


def register():
    """Now, or when it is imported."""
    if NAME in sys.modules:
        _tell(sys.modules[NAME])
    else:
        sys.meta_path.insert(0, _Finder())


def _tell(fsspec):
    fsspec.register_implementation("datasetfs", "datasetfs.filesystem.FileSystem", clobber=True)


class _Finder:
    def find_spec(self, name, path=None, target=None):
        if name != NAME:
            return None
        others = [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader:
    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _tell(module)
