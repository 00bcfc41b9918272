#!/bin/sh
# SPDX-License-Identifier: MIT
# Replays a fuzz target over its generated seeds, with variations, and over the inputs kept in corpus/.
# usage: replay.sh REPLAY NAME SOURCE_FOLDER SEEDS
set -e
"$1" --mutate "${FUZZ_ROUNDS:-3000}" "$4/$2"-*
for kept in "$3/corpus/$2"-*; do
	[ ! -e "$kept" ] || "$1" "$kept"
done
