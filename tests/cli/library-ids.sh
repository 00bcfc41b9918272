#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once
# Every id of many files has its path, and every path leads to its id; with hard links among them as well.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/library.sh"

# every_id VOLUME SOURCE
every_id() {
    library_tree "$1" ids >ids
    python3 "$LIB/library_tree.py" ids "$2" <ids || fail "the paths of $1 are not as $2"
    tr '\0' '\n' <ids | cut -d ' ' -f 1 >expected
    tr '\0' '\n' <ids | cut -d ' ' -f 2- | tr '\n' '\0' >paths
    library_tree "$1" lookup <paths >found
    cmp found expected || fail "the paths of $1 do not lead to their ids"
}

tree many source --files "$(length 20000 100000)"
pack volume source
every_id volume source
mkdir source/linked
cp -al "$(find source -mindepth 1 -maxdepth 1 -type d ! -name linked | head -n 1)" source/linked/again
cp -al "$(find source -mindepth 1 -maxdepth 1 -type d ! -name linked | tail -n 1)" source/0-again
pack linked.dsfs source
every_id linked.dsfs source
