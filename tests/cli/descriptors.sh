#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# Programs that are started with standard descriptors closed: no line lands in the volume, nobody hangs.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
# A tmpfs takes unaligned writes, so a stray line would go through.
[ -d /dev/shm ] && [ -w /dev/shm ] || skip "no /dev/shm"
shm=$(mktemp -d /dev/shm/datasetfs-test.XXXXXX)
at_exit rm -rf "$shm"
mkdir source mnt
echo hello >source/file
pack "$shm/volume" source
before=$(hash_of "$shm/volume")
! mkdatasetfs "$shm/volume" /nonexistent 2>&- || fail "a source that does not exist was packed"
! mkdatasetfs "$shm/volume" /nonexistent <&- >&- 2>&- || fail "a source that does not exist was packed"
assert_eq "the volume after failures without stderr" "$(hash_of "$shm/volume")" "$before"
datasetfsctl verify "$shm/volume" <&- >&- 2>&- || fail "verify without descriptors"
need_root
need_fuse
for closed in "0<&-" "0<&- 1>&-" "0<&- 1>&- 2>&-"; do
    eval "timeout 200 datasetfs '$shm/volume' mnt $closed" || fail "mount with $closed"
    daemon=$(daemon_of mnt)
    [ -n "$daemon" ] || fail "no daemon, started with $closed"
    assert_eq "file with $closed" "$(cat mnt/file)" hello
    umount mnt
    wait_end "$daemon" || fail "the daemon runs on after umount, started with $closed"
done

# A daemon keeps neither locks nor pipes of its caller.
exec 9>lock
flock -n 9
datasetfs "$shm/volume" mnt
exec 9>&-
flock -n lock true || fail "the daemon keeps the caller's lock"
daemon=$(daemon_of mnt)
umount mnt
wait_end "$daemon" || fail "the daemon runs on after umount"
