#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once
# Files are open when their version is removed and others take the space: a read gives their bytes, or EIO, without and
# with datasetfs-run.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_command datasetfs-run

cat >program.py <<'END'
import errno
import os
import sys

CALLS = {
    "pread": lambda fd: os.pread(fd, 100, 7),
    "read": lambda fd: os.read(fd, 50000),
    "some": lambda fd: os.read(fd, 100),
    "readv": lambda fd: os.readv(fd, [bytearray(50000)]),
    "preadv": lambda fd: os.preadv(fd, [bytearray(10)], 3),
}
files = [os.open(f"mnt/{name}", os.O_RDONLY) for name in sorted(os.listdir("one"))]
print("opened", flush=True)
sys.stdin.readline()
failed = 0
for number, fd in enumerate(files):
    for name, call in CALLS.items():
        try:
            call(fd)
        except OSError as error:
            if error.errno != errno.EIO:
                sys.exit(f"{name} of file {number}: {error}")
            failed += name == "pread"
print(failed)
END
for version in one two three four; do
    mkdir $version
    for i in {1..40}; do head -c 50000 /dev/urandom >"$version/$i"; done
done
mkfifo to
for way in "" datasetfs-run; do
    rm -f volume
    : >report
    : >said
    pack volume one --label one --segment-size 1M
    mount_volume volume mnt
    DATASETFS_REPORT=$PWD/report $way python3 program.py <to >said 2>&1 &
    program=$!
    exec {to}>to
    wait_for 20 grep -q opened said
    former=one
    for version in two three four; do
        pack volume $version --label $version
        datasetfsctl switch mnt $version >/dev/null || fail "switch $version"
        datasetfsctl remove volume $former >/dev/null 2>&1 || fail "remove $former"
        former=$version
    done
    echo >&$to
    exec {to}>&-
    wait $program || fail "${way:-the mount}: $(cat said)"
    [ "$(tail -n 1 said)" -gt 10 ] || fail "${way:-the mount}: only $(tail -n 1 said) files fail that were overwritten"
    [ -z "$way" ] || [ "$(served report python3)" -ge 40 ] || fail "the library served $(served report python3) files"
    unmount mnt
done
