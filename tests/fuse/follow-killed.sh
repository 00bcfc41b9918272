#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=gcc
# A successor looks at the catalogue at once, as servers may die more often than the period; a version that crashes the
# server twice while it is opened is refused from then on, whoever asks for it, and the mount goes on.
. "$(dirname "$0")/../lib/common.sh"
. "$LIB/steps.sh"
need_fuse
is_root || skip "only root has RESEND"

small_files source 35 20 1
# publish LABEL [OPTIONS]: a version that has a file of its name
publish() {
    echo "$1" >source/name
    pack volume source --label "$@"
}
publish v1
label_is() {
    [ "$(json label mnt/.datasetfs/version)" = "$1" ]
}
behind() {
    stats mnt follow_failure | grep -q "$1"
}

say "a period of a day"
mount_volume volume mnt -o follow=current:86400
publish v2
label_is v1 || fail "it followed without a death"
kill_server mnt
wait_for 20 label_is v2 || fail "a successor does not follow: $(cat daemon.log)"
assert_eq "its content" "$(cat mnt/name)" v2
unmount mnt

say "a mount that does not follow"
mount_volume volume mnt -o version=v1
datasetfsctl remove --force volume v1 2>/dev/null >&2 || fail "remove v1"
kill_server mnt
removed() {
    [ "$(stats mnt outdated)" = removed ]
}
wait_for 20 removed || fail "a successor does not notice: $(stats mnt outdated)"
unmount mnt

say "a version that crashes the server"
mount_volume volume mnt -o follow=current:1
at_step version-loads.3 aaa
publish v3
wait_for 30 behind "version 'v3' crashed the server 2 times while it was opened" || fail "$(cat daemon.log)"
label_is v2 || fail "another version is mounted"
assert_eq "servers that died" "$(restarts mnt)" 2
grep -q "crashed while it opened the version of sequence 3, which it does not open any more, times=2" daemon.log ||
    fail "no word of it: $(cat daemon.log)"
assert_fails 1 "version 'v3' crashed the server 2 times" datasetfsctl switch mnt v3
! stat mnt/.datasetfs/versions/v3 2>out || fail "its directory"
grep -q "Input/output error" out || fail "another error: $(cat out)"
assert_eq "servers that died of other requests" "$(restarts mnt)" 2
publish v4
wait_for 30 label_is v4 || fail "it does not follow any more: $(cat daemon.log)"
wait_for 10 behind '^None$' || fail "still behind: $(stats mnt follow_failure)"
unmount mnt
rm -f "$DATASETFS_STEPS/version-loads.3"

say "a switch that crashes the server"
datasetfsctl remove --force volume v3 2>/dev/null >&2 || fail "remove v3"
mount_volume volume mnt -o version=v4
publish v5 --no-current
at_step version-loads.5 aaa
assert_fails 1 "version 'v5' crashed the server 2 times" datasetfsctl switch mnt v5
assert_eq "servers that died" "$(restarts mnt)" 2
compare_name() {
    assert_eq "content of $1" "$(cat mnt/name)" "$1"
}
compare_name v4
unmount mnt

say "duties that crash the server"
rm -f "$DATASETFS_STEPS/version-loads.5"
mount_volume volume mnt -o follow=current:86400
at_step duties-begun a
datasetfsctl switch mnt v2 >/dev/null || fail "switch to v2"
crashed() {
    grep -q "the server crashed while it looked at the volume, times=1" daemon.log
}
wait_for 20 crashed || fail "no word of it: $(cat daemon.log)"
compare_name v2
unmount mnt
