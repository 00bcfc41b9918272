#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once plain timeout=400
# contrib/quickstart: builds, packs, mounts, compares, ends with "identical"; twice; its refusals.
. "$(dirname "$0")/../lib/common.sh"
need_fuse

unset XDG_DATA_HOME
quickstart=$DATASETFS_SOURCE/contrib/quickstart
tree random source --seed 12 --files 80
mkdir "a mountpoint"
at_exit umount "$PWD/a mountpoint"
at_exit umount "$PWD/.local/share/datasetfs/mnt"

"$quickstart" source >first.log 2>&1 || { cat first.log; fail "the first run"; }
assert_eq "the last line" "$(tail -n 1 first.log)" identical
mnt=$PWD/.local/share/datasetfs/mnt
compare source "$mnt"
echo more >source/new-file
"$quickstart" source >second.log 2>&1 || { cat second.log; fail "the second run"; }
assert_eq "the last line" "$(tail -n 1 second.log)" identical
assert_eq "the new file" "$(cat "$mnt/new-file")" more
umount "$mnt"

# The commands that it names work.
"$quickstart" source "a mountpoint" >third.log 2>&1 || { cat third.log; fail "with a mountpoint"; }
command=$(sed -n 's/^what it serves   //p' third.log)
[ -x "${command%% *}" ] || fail "no such program: ${command%% *}"
compare source "a mountpoint"

# Busy, full of something, missing, or misspelt: a reason.
exec 7<"a mountpoint/new-file"
rc=0
"$quickstart" source "a mountpoint" >busy.log 2>&1 || rc=$?
exec 7<&-
[ $rc != 0 ] || fail "a busy mountpoint was replaced"
assert_contains "the reason" "$(cat busy.log)" "is in use"
umount "a mountpoint"
: >"a mountpoint/something"
rc=0
"$quickstart" source "a mountpoint" >full.log 2>&1 || rc=$?
[ $rc != 0 ] || fail "it mounts over content"
assert_contains "the reason" "$(cat full.log)" "not empty"
assert_fails 1 "missing" "$quickstart" missing
assert_fails 2 "'--frobnicate'" "$quickstart" --frobnicate
"$quickstart" --help >help.log || fail "--help"
