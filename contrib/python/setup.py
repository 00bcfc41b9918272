# SPDX-License-Identifier: MIT
"""What pyproject.toml cannot say: the release, which stands in the meson.build of the whole tree, and whether the
extension in C is built."""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import sysconfig

from setuptools import Extension, setup

HERE = pathlib.Path(__file__).resolve().parent


def release():
    """An sdist has it in its PKG-INFO, a checkout in meson.build."""
    for path, pattern in ((HERE / "PKG-INFO", r"^Version: (\S+)$"),
                          (HERE / "../../meson.build", r"^  version: '([^']+)',$")):
        if path.exists():
            return re.search(pattern, path.read_text(), re.MULTILINE)[1]
    sys.exit("setup.py: no PKG-INFO beside it and no meson.build two folders above, so the release is not known: build"
             " from a checkout of datasetfs or from its sdist")


def flags(wanted):
    """Of the compiler and the linker for libdatasetfs, or why there are none."""
    if sys.version_info < (3, 11):
        return None, "the interface of CPython that it uses came with Python 3.11"
    include = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(include, "Python.h")):
        return None, f"{sys.executable} has no '{include}/Python.h' (Debian: python3-dev, for /usr/bin/python3)"
    try:
        found = subprocess.run(["pkg-config", "--cflags", "--libs", "--print-errors", f"datasetfs >= {wanted}"],
                               capture_output=True, text=True)
    except FileNotFoundError:
        return None, "no pkg-config"
    if found.returncode:
        return None, f"pkg-config knows no datasetfs >= {wanted} (Debian: libdatasetfs-dev)"
    return shlex.split(found.stdout), None


def extension(version):
    """The keywords of setup() for it. DATASETFS_EXTENSION=yes: an error where it cannot be built; no: never."""
    wanted = os.environ.get("DATASETFS_EXTENSION", "auto")
    if wanted not in ("yes", "no", "auto"):
        sys.exit(f"setup.py: DATASETFS_EXTENSION is '{wanted}': expected yes, no or auto")
    arguments, why = (None, None) if wanted == "no" else flags(version)
    if why and wanted == "yes":
        sys.exit(f"setup.py: the extension cannot be built: {why}")
    if why:
        print(f"setup.py: without the extension, so reads are slower: {why}", file=sys.stderr)
    if arguments is None:
        return {}
    compiler = [word for word in arguments if word.startswith(("-I", "-D"))]
    linker = [word for word in arguments if word not in compiler]
    return {
        "ext_modules": [Extension("datasetfs._fast", ["fast.c"], py_limited_api=True, extra_compile_args=compiler,
                                  extra_link_args=linker)],
        "options": {"bdist_wheel": {"py_limited_api": "cp311"}},
    }


RELEASE = release()
setup(version=RELEASE, packages=["datasetfs"], package_data={"datasetfs": ["py.typed"]}, **extension(RELEASE))
