#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# A process forks while its threads read by libdatasetfs: children and parent go on, whatever call made the child, and a
# program that is executed has nothing of it.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

programs=$DATASETFS_BUILD/tests/library
tree random source --seed 3 --files 300 --no-huge
pack volume source
"$programs/library-forks" volume source "$(length 12 200)" || fail "forks"
c_program lib/without_io_uring
rc=0
./without_io_uring true || rc=$?
[ $rc = 77 ] || ./without_io_uring "$programs/library-forks" volume source 6 || fail "forks without io_uring"
