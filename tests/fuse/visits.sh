#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon channels timeout=240
# What visitors of .datasetfs cannot do to others: be shown an older listing, have a version that does not load loaded again and
# again, take all places in its tables.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_root
need_command python3

chmod 755 . ..
mkdir source
for i in 1 2; do
    echo "in $i" >source/file
    pack volume source --label v$i
done
versions=mnt/.datasetfs/versions

# The newest superblock cannot be read for a while: a listing of what was before is as wrong as a look-up there.
mount_volume volume mnt
slot=$(($(datasetfsctl list volume --json | json superblock_sequence /dev/stdin) % 8))
dd if=volume of=slot bs=64K skip=$slot count=1 status=none
dd if=/dev/zero of=volume bs=64K seek=$slot count=1 conv=notrunc status=none
rc=0
listed=$(LC_ALL=C ls $versions 2>&1) || rc=$?
assert_eq "status of a listing of an older state, which was '$listed'" $rc 2
assert_contains "a listing of an older state" "$listed" "Stale file handle"
grep -q "cannot list '.datasetfs/versions': superblock [0-9]* is the newest that can be read" daemon.log ||
    fail "no line about the listing: $(cat daemon.log)"
dd if=slot of=volume bs=64K seek=$slot conv=notrunc status=none
assert_eq "the listing when the superblock can be read again" "$(echo $versions/*)" "$versions/v1 $versions/v2"
unmount mnt
say "no listing of an older state"

# A version that does not load is loaded once for all who ask within seconds; a command tries it each time.
cp volume damaged
at=$(datasetfsctl list volume --json | json versions.0.index.0.offset /dev/stdin)
mount_volume damaged mnt
spoil damaged $((at + 9000))
: >daemon.log
loads=$(stats mnt loads)
python3 - $versions/v1 <<'END' || fail "a damaged version can be visited"
import os, sys
failed = 0
for _ in range(20):
    try:
        os.stat(sys.argv[1])
    except OSError:
        failed += 1
sys.exit(failed != 20)
END
# Perhaps twice on a machine where 20 look-ups take longer than it is remembered.
loaded=$(($(stats mnt loads) - loads))
[ $loaded -ge 1 ] && [ $loaded -le 2 ] || fail "20 look-ups loaded the version $loaded times"
grep -q "cannot open '.datasetfs/versions/v1': .*its SHA-256 is not the one in the catalogue" daemon.log ||
    fail "no line about the damage: $(cat daemon.log)"
loads=$(stats mnt loads)
for i in 1 2; do
    assert_fails 1 "its SHA-256 is not the one in the catalogue" datasetfsctl switch mnt v1
done
assert_eq "how often two commands loaded it" $(($(stats mnt loads) - loads)) 2
spoil damaged $((at + 9000))
datasetfsctl switch mnt v1 >/dev/null || fail "a command is refused what failed for a visitor"
unmount mnt
say "a version that does not load"
