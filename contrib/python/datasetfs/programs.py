# SPDX-License-Identifier: MIT
"""The programs mkdatasetfs and datasetfsctl: where they are, options as their command lines take them, their JSON as
objects, and the lines with which they warn and fail."""
import errno
import json
import os
import shutil
import signal
import subprocess
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from . import library as dsfs

FOLDERS = (dsfs.PREFIX + "/sbin", dsfs.PREFIX + "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")  # behind $PATH


class CommandError(RuntimeError):
    """A program failed, with this line. status: its exit status; negative: the signal that ended it."""

    def __init__(self, line: str, status: int = 1):
        super().__init__(line)
        self.status = status


class Record(dict[str, Any]):
    """An object of JSON, whose fields are attributes as well: found.label, and found["from"]."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no field {name!r} among {', '.join(self)}") from None


def find(program: str) -> str:
    path = shutil.which(program) or shutil.which(program, path=os.pathsep.join(FOLDERS))
    if path is None:
        raise FileNotFoundError(errno.ENOENT, "this program is not installed: install the package datasetfs that"
                                " contrib/packaging/build-deb of datasetfs makes, or add its folder to PATH", program)
    return path


def arguments(options: dict[str, Any]) -> Iterator[str]:
    """no_current=True is --no-current, chunk_size="64K" is --chunk-size=64K, and a list repeats the option."""
    for name, values in options.items():
        option = "--" + name.replace("_", "-")
        for value in values if isinstance(values, (list, tuple)) else [values]:
            if value is True:
                yield option
            elif value is not None and value is not False:
                yield f"{option}={os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else value}"


def volume_name(volume: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> str:
    """A volume of several members is a list of their names, or these with commas between them."""
    return ",".join(map(os.fsdecode, volume)) if isinstance(volume, (list, tuple)) else os.fsdecode(volume)


def messages(program: str, text: bytes) -> list[str]:
    """The lines on its standard error that are not its progress."""
    lines = text.decode(errors="surrogateescape").splitlines()
    return [line.removeprefix(program + ": ") for line in lines if line and not line.startswith("{")]


def failure(program: str, status: int, lines: list[str]) -> CommandError:
    if status < 0:
        lines = [*lines, f"{program} was ended by signal {-status} ({signal.strsignal(-status)})"]
    return CommandError(lines[-1] if lines else f"{program} ended with status {status}", status)


def answer(program: str, status: int, output: bytes, errors: bytes, fine: Sequence[int] = (0,),
           level: int = 4) -> Record:
    """Its JSON, after warnings of what it said besides. fine: exit statuses with which it answers; level: of calls from
    here to the user's."""
    lines = messages(program, errors)
    if status not in fine or not output:
        raise failure(program, status, lines)
    for line in lines:
        warnings.warn(f"{program}: {line}", RuntimeWarning, stacklevel=level)
    return json.loads(output, object_hook=Record)


def ask(verb: str, operands: Sequence[str], options: dict[str, Any], fine: Sequence[int] = (0,)) -> Record:
    """The answer of datasetfsctl."""
    command = [find("datasetfsctl"), verb, "--json", *arguments(options), "--", *operands]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return answer("datasetfsctl", done.returncode, done.stdout, done.stderr, fine)
