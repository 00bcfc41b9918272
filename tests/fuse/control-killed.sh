#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan
# Files of .datasetfs that are open while servers of the mount follow each other: each shows the text that it was opened
# with, and one that is opened anew the server of now.
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

NAMES = ["stats.json", "version", "versions.json", "metrics", "client"]


class Text:
    """An open file, and what it showed first."""

    def __init__(self, name, server):
        self.name, self.server = name, server
        self.file = os.open(f"mnt/.datasetfs/{name}", os.O_RDONLY)
        self.first = os.pread(self.file, 1 << 20, 0)
        if name != "metrics":
            json.loads(self.first)
        if self.restarts() not in (server, None):
            sys.exit(f"fail: {name} of server {server}: {self.first}")

    def restarts(self):
        """The server that wrote this, as far as the file tells."""
        if self.name == "stats.json":
            return json.loads(self.first)["restarts"]
        if self.name == "metrics":
            lines = [line for line in self.first.decode().splitlines()
                     if line.startswith("datasetfs_server_restarts_total ")]
            return int(lines[0].split()[1])
        return None

    def check(self, server):
        found, known = os.pread(self.file, 1 << 20, 0), os.fstat(self.file).st_size
        if found != self.first or known != len(found):
            sys.exit(f"fail: {self.name} of server {self.server} at server {server}: {known} bytes known, {found}, "
                     f"at first {self.first}")


texts = [Text(name, 0) for name in NAMES]
print("ready", flush=True)
for server, _ in enumerate(sys.stdin, 1):
    for one in texts:
        one.check(server)
    if server % 4 == 0:
        texts += [Text(name, server) for name in NAMES]
    print("ready", flush=True)
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
