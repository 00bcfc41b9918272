# SPDX-License-Identifier: MIT
"""What datasetfsctl knows of a volume and its versions, as objects. Fields are those of its JSON: datasetfsctl(8)."""
import os
from collections.abc import Sequence
from typing import Any

from .mount import Mount, Version
from .programs import Record, ask, volume_name

Volume = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]  # a volume, by several names, or a mountpoint


class ListedVersion(Record):
    label: str
    sequence: int
    current: bool
    uuid: str
    digest: str
    created: int  # seconds since 1970; 0: without a date
    sums: str
    files: int
    directories: int
    symlinks: int
    content_bytes: int
    stored_bytes: int
    index_bytes: int
    unique_bytes: int
    shared_bytes: int
    meta: Record | None  # only of versions(volume, verbose=True); None: the index cannot be read


class Difference(Record):
    """Each kind of change has files, bytes, directories, symlinks and, except unchanged, a list."""

    folder: str | None
    added: Record
    removed: Record
    changed: Record
    moved: Record
    metadata: Record
    unknown: Record
    unchanged: Record


class Description(Record):
    version: Record
    files: int
    bytes: int
    directories: int
    symlinks: int
    folders: Record
    splits: list[Record]
    sizes: list[Record]
    kinds: Record
    largest: list[Record]
    duplicates: Record
    storage: Record
    order: Record


class Verification(Record):
    state: str  # clean, damaged, or unknown: not all could be read
    structures: list[Record]
    versions: list[Record]
    damaged: int
    chunks: int
    bytes: int


def versions(volume: Volume, *, verbose: bool = False) -> list[ListedVersion]:
    """The oldest first. verbose: with their metadata, for which their indexes are read."""
    found = ask("list", [volume_name(volume)], {"verbose": verbose}).versions
    return [ListedVersion(version) for version in found]


def describe(volume: Volume, label: str | None = None, **options: Any) -> Description:
    """By default the version that is current, or that the mountpoint serves. options: limit=, folder=, digest=…"""
    return Description(ask("describe", _operands(volume, label), options))


def diff(volume: Volume, old: str, new: str | None = None, **options: Any) -> Difference:
    """The changes from version old to version new, with the options of describe()."""
    return Difference(ask("describe", _operands(volume, new), {"diff": old, **options}))


def verify(volume: Volume, *labels: str, **options: Any) -> Verification:
    """Of all versions, or those that are named. Damage is no exception but a state. options: sample="1%", jobs=…"""
    return Verification(ask("verify", _operands(volume, *labels), options, fine=(0, 1, 2)))


def switch(mountpoint: str | os.PathLike[str], label: str | None = None, *, if_current: str | None = None) -> Version:
    """The mount serves the version, by default the volume's current one. It does what Mount.switch() does."""
    return Mount(mountpoint).switch(label, if_current=if_current)


def _operands(volume: Volume, *labels: str | None) -> list[str]:
    return [volume_name(volume), *(label for label in labels if label is not None)]
