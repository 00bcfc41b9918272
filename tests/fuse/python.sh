#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke once
# Python's read() and read_many() by paths: every spelling of a path on a mount, what is on none, a switch, forks,
# another volume at the same place; and what is said of a mount whose daemon has ended.
. "$(dirname "$0")/../lib/common.sh"
need_fuse

mkdir -p tree/sub/deep outside mnt
for name in one two sub/three sub/deep/four; do echo "$name of the first" >tree/$name; done
cp -r tree second
sed -i s/first/second/ second/one second/two second/sub/three second/sub/deep/four
echo outside >outside/file
ln -s sub/three tree/soft
ln -s ../outside/file tree/out
ln -s mnt link
ln -s mnt/sub below
pack volume tree --label one
pack volume second --label two
datasetfsctl current volume one
pack another second
mount_volume volume mnt
export PYTHONPATH=$DATASETFS_BUILD/root/usr/share/datasetfs/python
for extension in yes no; do
    datasetfsctl switch mnt one >/dev/null
    DATASETFS_EXTENSION=$extension python3 "$DATASETFS_SOURCE/tests/lib/python_paths.py" "$PWD" ||
        fail "with DATASETFS_EXTENSION=$extension"
done
datasetfsctl switch mnt one >/dev/null
python3 - <<'END_OF_PYTHON' || fail "versions of a mount"
import datasetfs

found = [datasetfs.switch("mnt", "two", if_current="one").label, datasetfs.describe("mnt").version.label,
         datasetfs.switch("mnt").label, *(version.label for version in datasetfs.versions("mnt"))]
assert found == ["two", "two", "one", "one", "two"], found
try:
    datasetfs.switch("mnt", "two", if_current="two")
    raise SystemExit("fail: a switch from another version")
except datasetfs.SwitchError as error:
    assert "'one'" in error.strerror, error
END_OF_PYTHON
unmount mnt

# One process over two mounts at the same place, and then none: each answer is of what is there.
cat >places.py <<'END_OF_PYTHON'
import subprocess
import sys
import datasetfs

for expected in (b"one of the first\n", b"one of the second\n", None):
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        found = datasetfs.read("mnt/one")
    except FileNotFoundError:
        found = None
    if found != expected:
        sys.exit(f"fail: found {found}, expected {expected}")
END_OF_PYTHON
coproc places { python3 places.py; }
places_process=$!
ready() {
    local line
    read -r line <&"${places[0]}" && [ "$line" = ready ] || fail "the reader ended"
}
ready
mount_volume volume mnt -o version=one
echo >&"${places[1]}"
ready
unmount mnt
mount_volume another mnt
echo >&"${places[1]}"
ready
unmount mnt
echo >&"${places[1]}"
wait $places_process || fail "the reader"

cat >ended.py <<'END_OF_PYTHON'
import errno
import pickle
import sys
import datasetfs

data = datasetfs.DataSet("mnt")
spawned, expected = pickle.loads(pickle.dumps(data)), list(data)
print("ready", flush=True)
sys.stdin.readline()
if data.reader.info.way != "direct" or list(data) != expected:
    sys.exit("fail: what is open past the mount cannot be read any more")
try:
    list(spawned)
    sys.exit("fail: a data set was opened again")
except OSError as error:
    if error.errno != errno.ENOTCONN:
        sys.exit(f"fail: a data set that is opened again: {error}")
for kind in (datasetfs.Reader, datasetfs.DataSet, datasetfs.ImageFolder):
    try:
        kind("mnt")
        sys.exit(f"fail: {kind.__name__} of a mount whose daemon has ended")
    except OSError as error:
        if error.errno != errno.ENOTCONN or "has ended: unmount it and mount it again" not in error.strerror:
            sys.exit(f"fail: {kind.__name__}: {error}")
END_OF_PYTHON
mount_volume volume mnt
coproc places { python3 ended.py; }
places_process=$!
ready
kill_daemon mnt || fail "it runs on"
echo >&"${places[1]}"
wait $places_process || fail "a mount whose daemon has ended"
umount mnt

# Another volume at the same place, after the daemon was killed: a reader goes on to it, one with a digest does not.
cat >other.py <<'END_OF_PYTHON'
import errno
import sys
import datasetfs

way = sys.argv[1]
free = datasetfs.Reader("mnt", way=way)
bound = datasetfs.Reader("mnt", way=way, digest=free.info.digest)
print("ready", flush=True)
sys.stdin.readline()
found = free.refresh(), free.refresh(), free.read("one")
if found != (True, False, b"one of the second\n"):
    sys.exit(f"fail: without a digest: {found}")
try:
    bound.refresh()
    sys.exit("fail: a digest does not prevent it")
except OSError as error:
    if error.errno != errno.EBADMSG or f"expected {bound.info.digest}" not in error.strerror:
        sys.exit(f"fail: with a digest: {error}")
END_OF_PYTHON
for way in direct mount; do
    mount_volume volume mnt -o version=one
    coproc places { python3 other.py $way; }
    places_process=$!
    ready
    kill_daemon mnt || fail "it runs on"
    umount --lazy mnt
    mount_volume another mnt
    echo >&"${places[1]}"
    wait $places_process || fail "another volume, way $way"
    unmount mnt
done

# A folder of a mount that is mounted elsewhere alone: data sets of its version, also after a switch.
need_root
need_mount
mkdir -p bound images/top images/sub/cat/deep images/sub/dog
for name in top/far sub/cat/1 sub/cat/deep/2 sub/dog/1; do echo "$name" >images/$name.jpg; done
ln images/top/far.jpg images/sub/cat/0.jpg
ln -s ../cat/1.jpg images/sub/dog/link.jpg
pack pictures images --label one
echo other >images/sub/cat/1.jpg
pack pictures images --label two
mount_volume pictures mnt -o version=one
mount --bind mnt/sub bound
at_exit umount bound
cat >bound.py <<'END_OF_PYTHON'
import os
import sys
import datasetfs

folder, way = sys.argv[1:]
images = datasetfs.ImageFolder(folder, loader=bytes, way=way)
paths = [os.path.join(folder, path) for path in "cat/0.jpg cat/1.jpg cat/deep/2.jpg dog/1.jpg dog/link.jpg".split()]
for found, expected in ((images.samples[:], [(path, "dog/" in path) for path in paths]),
                        ([image for image, _ in images], [open(path, "rb").read() for path in paths]),
                        (sorted(datasetfs.DataSet(os.path.join(folder, "cat"), way=way)),
                         [b"sub/cat/1\n", b"sub/cat/deep/2\n", b"top/far\n"]),
                        (datasetfs.read(paths[1]), b"sub/cat/1\n"), (images.refresh(), False),
                        ((images.reader.info.way, images.version), (way, "one"))):
    if found != expected:
        sys.exit(f"{folder} {way}: found {found}, expected {expected}")
END_OF_PYTHON
for version in one two; do
    datasetfsctl switch mnt $version >switch.out
    for way in direct mount; do
        python3 bound.py "$PWD/bound" $way || fail "a bound folder, way $way, while the mount serves '$version'"
    done
done
