#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan
# Files of .datasetfs that are open while servers of the mount follow each other: each shows the whole text of now, also
# where that is longer than the one that the kernel knew.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_command python3

mkdir tree
echo content >tree/file
pack volume tree
mount_volume volume mnt

cat >open.py <<'END'
import json
import os
import sys
import time

NAMES = ["stats.json", "version", "versions.json", "metrics", "client"]


def text(file):
    """What is there, and whether that is all: the kernel's size is the text's."""
    found = os.pread(file, 1 << 20, 0)
    return found, len(found) == os.fstat(file).st_size and found.endswith(b"\n")


def whole(name, file):
    found, complete = text(file)
    if complete and name != "metrics":
        json.loads(found)
    return complete and found


def restarts(name, found):
    """The server that wrote this, as far as the file tells."""
    if name == "stats.json":
        return json.loads(found)["restarts"]
    if name == "metrics":
        lines = [line for line in found.decode().splitlines() if line.startswith("datasetfs_server_restarts_total ")]
        return int(lines[0].split()[1])
    return None


def check(files, server):
    for name, file in files:
        # The control thread of the new server may not have come to it yet.
        for _ in range(4000):
            try:
                found = whole(name, file)
            except ValueError:
                found = False
            if found and restarts(name, found) in (server, None):
                break
            time.sleep(0.05)
        else:
            sys.exit(f"fail: {name}, server {server}: {os.fstat(file).st_size} bytes known, {text(file)[0]}")


def opened():
    return [(name, os.open(f"mnt/.datasetfs/{name}", os.O_RDONLY)) for name in NAMES]


files = opened()
for name, file in files:
    whole(name, file)
print("ready", flush=True)
for server, _ in enumerate(sys.stdin, 1):
    check(files, server)
    if server % 4 == 0:
        files += opened()
    print("ready", flush=True)
for _, file in files:
    os.close(file)
END
coproc reader { exec python3 open.py 2>reader.err; }
process=$!
ready() {
    local line
    IFS= read -r line <&"${reader[0]}" && [ "$line" = ready ] || fail "the reader ended: $(cat reader.err)"
}
ready
# Beyond ten, so that a number becomes longer.
for _ in {1..12}; do
    kill_server mnt
    echo >&"${reader[1]}"
    ready
done
to_reader=${reader[1]}
exec {to_reader}>&-
wait $process || fail "the reader: $(cat reader.err)"
unmount mnt
