#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once timeout=300
# Files that go from process to process are the same without and with datasetfs-run: forks, programs, workers, other
# users and other roots. Calls of spawn, exec and sockets are in calls.sh and sequences.sh.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/preload.sh"
need_fuse
need_command /usr/bin/python3

data files modes modules
works "processes" /usr/bin/python3 "$DATASETFS_SOURCE/tests/preload/processes.py"
[ "$(wc -l <plain/out)" -gt 500 ] || fail "only $(wc -l <plain/out) calls were made"
same_programs 1
