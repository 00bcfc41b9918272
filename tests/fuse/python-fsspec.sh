#!/bin/bash
# SPDX-License-Identifier: MIT
# fsspec's filesystem over a mount, past it and through it: the version that it serves, beside the source, also after a
# switch, but for files that are open; other versions by their labels; a mount that has ended; a folder mounted alone.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_python python3-fsspec fsspec
export PYTHONPATH=$DATASETFS_BUILD/root/usr/share/datasetfs/python

by_fsspec() {
    python3 "$DATASETFS_SOURCE/tests/cli/python-fsspec.py" "$@" || fail "$*"
}

by_fsspec make tree
mkdir other
echo other >other/top
pack volume tree --label one
pack volume other --label two
cat >switched.py <<'END_OF_PYTHON'
import errno
import pickle
import sys
import datasetfs
import fsspec

fs = fsspec.filesystem("datasetfs", way=sys.argv[1])


def check(what, found, expected):
    if found != expected:
        sys.exit(f"fail: {what}, way {sys.argv[1]}: found {found}, expected {expected}")


def refuse():
    raise OSError(errno.EMFILE, "no descriptors")


large = fs.open("mnt/dog/large")
pickled = pickle.dumps((fs, large))
before = fs.cat_file("mnt/dog/large"), fs.ukey("mnt/top"), fs.find("mnt")
datasetfs.switch("mnt", "two")
check("the new version", (fs.cat("mnt/top"), fs.ls("mnt", detail=False)), (b"other\n", [fs._strip_protocol("mnt/top")]))
check("its key", fs.ukey("mnt/top") in (before[1], fs.ukey("mnt@one/top")), False)
check("the former one", (fs.cat("mnt@one/top"), fs.ukey("mnt@one/top")), (b"top", before[1]))
check("an open file", large.read(), before[0])
try:
    pickle.loads(pickled)
    sys.exit("fail: a file that is not there any more")
except FileNotFoundError as error:
    check("its name", error.filename, fs._strip_protocol("mnt/dog/large"))
datasetfs.switch("mnt", "one")
source, = (source for begin, source in fs._sources.items() if begin.endswith("/mnt"))
opens, source._open = source._open, refuse
for _ in range(2):
    try:
        sys.exit(f"fail: the version before: {fs.cat('mnt/top')}")
    except OSError as error:
        check("why", error.errno, errno.EMFILE)
source._open = opens
check("back", (fs.cat_file("mnt/dog/large"), fs.ukey("mnt/top"), fs.find("mnt")), before)
check("pickled", pickle.loads(pickled)[1].read(), before[0])
END_OF_PYTHON

for way in direct mount; do
    mount_volume volume mnt -o version=one
    by_fsspec compare "$PWD/mnt" tree $way
    by_fsspec compare "$PWD/mnt@one" tree $way
    python3 switched.py $way || fail "after a switch, way $way"
    unmount mnt
done

cat >ended.py <<'END_OF_PYTHON'
import errno
import sys
import fsspec
import datasetfs

fs = fsspec.filesystem("datasetfs")
fs.ls("mnt")
print("ready", flush=True)
sys.stdin.readline()
for one in (fs, fsspec.filesystem("datasetfs", way="direct")):
    for call in (one.ls, one.info, one.cat_file, one.find):
        try:
            sys.exit(f"fail: {call('mnt/top')}")
        except OSError as error:
            if error.errno != errno.ENOTCONN:
                sys.exit(f"fail: {error}")
END_OF_PYTHON
mount_volume volume mnt -o version=one
coproc reader { python3 ended.py; }
reader_process=$!
read -r line <&"${reader[0]}" && [ "$line" = ready ] || fail "the reader ended"
kill_daemon mnt || fail "it runs on"
echo >&"${reader[1]}"
wait $reader_process || fail "a mount that has ended"
umount mnt

need_root
need_mount
mount_volume volume mnt -o version=one
mkdir bound
mount --bind mnt/cat bound
at_exit umount bound
for way in direct mount; do
    found=$(python3 - $way <<'END_OF_PYTHON'
import os
import sys
import datasetfs
import fsspec

fs = fsspec.filesystem("datasetfs", way=sys.argv[1])
print(*(os.path.relpath(path) for path in fs.find("bound")), fs.cat("bound/1.jpg") == fs.cat("mnt/cat/1.jpg"),
      fs.info("bound")["type"], fs.info("bound/1.jpg")["islink"])
END_OF_PYTHON
    ) || fail "a folder, way $way"
    assert_eq "a folder, way $way" "$found" \
        "bound/1.jpg bound/2.jpg bound/deep/er/3.jpg bound/second True directory False"
done
