#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# A volume that was put back, as when a power loss takes back a publish that failed in its last step, gives the next
# version a number that the mount has seen already: it is another version, and follow=current goes there.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

mkdir source
publish() {
    echo "in $1" >source/file
    pack volume source --label "$1"
}

version() {
    [ "$(json label mnt/.datasetfs/version)" = "$1" ]
}

is_closed() {
    ! stats mnt generations.1.label
}

# put_back: into the same file, as the mount has it open
put_back() {
    dd if=kept of=volume conv=notrunc status=none
}

publish v1
cp volume kept
mount_volume volume mnt -o follow=current:1
publish v2
wait_for 20 version v2 || fail "the mount does not follow: $(cat daemon.log)"
assert_eq "the file of v2" "$(cat mnt/file)" "in v2"
datasetfsctl switch mnt v1 >/dev/null
wait_for 20 is_closed || fail "v2 stays open"
put_back
publish v3
assert_eq "the number of v3" "$(datasetfsctl list --json volume | json versions.1.sequence)" 2
wait_for 20 version v3 || fail "the mount does not follow to v3: $(cat daemon.log)"
assert_eq "the file of v3" "$(cat mnt/file)" "in v3"

# In use it keeps its node numbers, so the other one is refused, and said to be.
put_back
publish v4
assert_fails 1 "version 'v4' has the sequence of 'v3'" datasetfsctl switch mnt v4
assert_fails 1 "is no longer on the volume" datasetfsctl dump mnt
assert_eq "the version that is served" "$(json label mnt/.datasetfs/version)" v3
unmount mnt
