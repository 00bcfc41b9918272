#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=tsan
# Threads that ask one handle of libdatasetfs for names, paths and lists, in the middle of listings as well.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/library.sh"

tree_of_links source
tree random source/random --seed 5 --files 400
mkdir source/linked
number=0
while read -r -d '' file; do
    number=$((number + 1))
    ln "$file" source/linked/$number
done < <(find source/random -type f -print0 | head -z -n 150)
pack volume source
"$DATASETFS_BUILD/tests/library/library-names" volume 8 "$(length 100 3000)" || fail "threads got other answers"
