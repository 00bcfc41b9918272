#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once timeout=600
# The Python package as a wheel and as an sdist, made without a network: both install into a virtual environment, with
# the extension and without; they read a volume where libdatasetfs is, and say how to install it where it is not.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_command python3 pkg-config
need_python "python3-build, python3-setuptools, python3-venv, python3-wheel" build setuptools venv wheel
release=$(sed -nE "s/^  version: '([^']+)',$/\1/p" "$DATASETFS_SOURCE/meson.build")

# The build writes beside its sources, so it runs in a copy of them.
mkdir -p copy/contrib
cp "$DATASETFS_SOURCE/meson.build" "$DATASETFS_SOURCE/LICENSE" copy
cp -R --preserve=links "$DATASETFS_SOURCE/contrib/python" copy/contrib

# build_python NAME ARGUMENT…: as users are told to, into the folder NAME
build_python() {
    python3 -m build --no-isolation --outdir "$@" >build.log 2>&1 || fail "build: $(tail -n 5 build.log)"
}

DATASETFS_EXTENSION=no build_python plain copy/contrib/python
assert_eq "what is built" "$(ls plain)" "datasetfs-$release-py3-none-any.whl
datasetfs-$release.tar.gz"
tar -xzf plain/*.tar.gz
assert_eq "a link in the sdist" "$(find "datasetfs-$release" -type l)" ""
for path in LICENSE PKG-INFO README.md pyproject.toml setup.py fast.c datasetfs/__init__.py; do
    [ -s "datasetfs-$release/$path" ] || fail "no $path in the sdist"
done
assert_eq "modules" "$(cd "datasetfs-$release" && ls datasetfs/*.py)" \
    "$(cd "$DATASETFS_SOURCE/contrib/python" && ls datasetfs/*.py)"
say "a wheel and an sdist"

# With the extension: of the sdist alone, and of the library as libdatasetfs-dev has it.
unset DATASETFS_LIBRARY
export PKG_CONFIG_PATH=$DATASETFS_BUILD/meson-uninstalled
headers=$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')
if [ -e "$headers/Python.h" ]; then
    DATASETFS_EXTENSION=yes build_python fast --wheel "datasetfs-$release"
    assert_eq "the wheel" "$(ls fast)" "datasetfs-$release-cp311-abi3-linux_$(uname -m).whl"
fi
assert_fails 1 "setup.py: the extension cannot be built: pkg-config knows no datasetfs >= $release" \
    env -C "datasetfs-$release" DATASETFS_EXTENSION=yes PKG_CONFIG_LIBDIR=/nowhere PKG_CONFIG_PATH= \
    python3 setup.py -q build
assert_fails 1 "DATASETFS_EXTENSION is 'perhaps': expected yes, no or auto" \
    env -C "datasetfs-$release" DATASETFS_EXTENSION=perhaps python3 setup.py -q build
cp "datasetfs-$release/setup.py" setup.py
assert_fails 1 "no PKG-INFO beside it and no meson.build two folders above" python3 setup.py --version
say "with the extension"

mkdir tree && echo contents >tree/file
pack volume tree
cat >reads.py <<'END_PYTHON'
import importlib.metadata, sys
import datasetfs, datasetfs.library
try:
    contents = datasetfs.Reader("volume").read("file").decode().strip()
except ImportError as error:
    sys.exit(str(error))
print(importlib.metadata.version("datasetfs"), datasetfs.library.calls().__name__.split(".")[-1], contents,
      *(point.value for point in importlib.metadata.entry_points(group="fsspec.specs", name="datasetfs")))
END_PYTHON

# In a virtual environment nothing is taken from the tree.
python3 -m venv venv || skip "no python3-venv: a wheel was made, and not installed"
for wheel in plain/*.whl plain/*.tar.gz fast/*.whl; do
    [ -e "$wheel" ] || continue
    calls=plain
    [[ $wheel == plain/*.whl ]] || calls=_fast
    case $wheel in
    *.whl) venv/bin/pip -q install --no-index --force-reinstall "$wheel" >pip.log 2>&1 || fail "$(tail -n 3 pip.log)" ;;
    *) DATASETFS_EXTENSION=no PYTHONPATH=/usr/lib/python3/dist-packages venv/bin/pip -q install --no-index \
           --no-build-isolation --force-reinstall "$wheel" >pip.log 2>&1 || fail "$(tail -n 3 pip.log)"
       calls=plain ;;
    esac
    assert_eq "$wheel" "$(LD_LIBRARY_PATH=$DATASETFS_BUILD/root$(pkg-config --variable=libdir \
        "$DATASETFS_BUILD/meson-private/datasetfs.pc") venv/bin/python reads.py)" \
        "$release $calls contents datasetfs.filesystem:FileSystem"
done
if ! ldconfig -p | grep -q 'libdatasetfs\.so\.0'; then
    assert_fails 1 "install the package libdatasetfs0 that" venv/bin/python reads.py
fi
say "in a virtual environment"
