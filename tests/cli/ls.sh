#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# ls and cat look into a version without a mount: names in order, long, as paths, as JSON; content as it was packed,
# with holes, of several files; and what they refuse.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir -p source/b/c source/empty
echo one >source/a
printf 'two' >source/b/two
head -c 300000 /dev/urandom >source/b/c/large
truncate -s 5M source/hole
echo end >>source/hole
ln -s ../a source/b/link
ln source/a source/b/again
chmod 640 source/a
touch -d '2026-01-02 03:04:05 UTC' source/a
pack volume source --label v1
rm source/b/two
echo new >source/z
pack volume source --label v2

say "ls"
assert_eq "root" "$(datasetfsctl ls --version v1 volume | paste -sd ' ')" "a b empty hole"
assert_eq "current" "$(datasetfsctl ls volume | paste -sd ' ')" "a b empty hole z"
assert_eq "a folder" "$(datasetfsctl ls --version v1 volume b | paste -sd ' ')" "again c link two"
assert_eq "slashes" "$(datasetfsctl ls --version v1 volume //b// | paste -sd ' ')" "again c link two"
assert_eq "an empty one" "$(datasetfsctl ls volume empty)" ""
assert_eq "a file" "$(datasetfsctl ls volume /b/again)" "b/again"
assert_eq "several" "$(datasetfsctl ls volume b a | paste -sd ' ')" "b/again b/c b/link a"
assert_eq "recursive" "$(datasetfsctl ls -R volume b | paste -sd ' ')" "b/again b/c b/c/large b/link"
assert_eq "all" "$(datasetfsctl ls -R volume | LC_ALL=C sort)" \
    "$(cd source && find . -mindepth 1 | cut -c3- | LC_ALL=C sort)"
assert_eq "long" "$(datasetfsctl ls -l volume a)" \
    "-rw-r-----   2 $(printf '%6d %6d %12d' "$(id -u)" "$(id -g)" 4) 2026-01-02 03:04:05 a"
assert_contains "a link" "$(datasetfsctl ls -l volume b)" " link -> ../a"
assert_eq "JSON" "$(datasetfsctl ls --json volume b | json entries.2.target)" ../a
assert_eq "JSON" "$(datasetfsctl ls --json volume b | json entries.0.type)" "regular file"
assert_fails 1 "there is no 'nowhere' in the version" datasetfsctl ls volume nowhere
assert_fails 1 "there is no '..' in the version" datasetfsctl ls volume ../source
assert_fails 1 "has no version 'v9'" datasetfsctl ls --version v9 volume
assert_fails 2 "expected VOLUME|MNT [PATH]..." datasetfsctl ls

say "cat"
datasetfsctl cat volume b/c/large | cmp - source/b/c/large
datasetfsctl cat volume hole | cmp - source/hole
datasetfsctl cat volume a hole z b/again | cmp - <(cat source/a source/hole source/z source/a)
assert_eq "an older version" "$(datasetfsctl cat --version v1 volume /b/two)" two
assert_fails 1 "'b' is a directory" datasetfsctl cat volume a b
[ ! -s "$DATASETFS_TEST_DIR/fails.out" ] || fail "it has written before it looked at all paths"
assert_fails 1 "'b/link' is a symbolic link" datasetfsctl cat volume b/link
assert_fails 1 "there is no 'two' in the version" datasetfsctl cat volume b/two
assert_fails 2 "expected VOLUME|MNT PATH..." datasetfsctl cat volume
if [ -c /dev/full ]; then
    assert_fails 1 "cannot write to standard output" bash -c 'datasetfsctl cat volume a >/dev/full'
fi

say "damage is refused, not shown"
cp volume damaged
spoil damaged "$(datasetfsctl stat --json volume b/c/large | json chunks.0.device_offset)"
exits 1 datasetfsctl cat damaged a b/c/large >out 2>err
assert_eq "what came before" "$(cat out)" one
assert_contains "reason" "$(cat err)" "b/c/large"
