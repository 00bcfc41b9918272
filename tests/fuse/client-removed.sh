#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan
# A version that was removed, or moved by compaction, under a client past the mount: what it reads is right, by the
# mount where it must be, or fails with the reason once the space is used again; the daemon hears of it.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/client.sh"
need_fuse
client it

# reported FIELD COUNT: the client has told the daemon of so many; it does not wait until the daemon has taken note
reported() {
    [ "$(stats mnt "$1")" -ge "$2" ]
}

# fill DIRECTORY COUNT
fill() {
    local i
    mkdir -p "$1"
    for ((i = 0; i < $2; i++)); do head -c 50000 /dev/urandom >"$1/f$i"; done
}

say "a version that is removed"
fill one 40
fill two 40
fill three 60
pack volume one --label v1 --segment-size 1M
mount_volume volume mnt
told_part it "open mnt" "direct v1"
pack volume two --label v2
datasetfsctl remove --force volume v1 2>/dev/null >&2 || fail "remove v1"
told it "compare one" "40 right, 0 failed"
pack volume three --label v3
tell it "compare one"
[[ $ANSWER =~ ^([0-9]+)\ right,\ ([0-9]+)\ failed\ (.*) ]] || fail "$ANSWER"
right=${BASH_REMATCH[1]} failed=${BASH_REMATCH[2]} why=${BASH_REMATCH[3]}
[ "$failed" -gt 10 ] || fail "only $failed files of a version fail that was overwritten"
assert_eq "all" $((right + failed)) 40
assert_contains "why" "$why" "through the mount: "
wait_for 20 reported client_checksum_failures "$failed" || fail "failures: $(stats mnt client_checksum_failures)"
wait_for 20 reported client_read_failures "$failed" || fail "failed for good: $(stats mnt client_read_failures)"
assert_eq "files that failed for good" "$(stats mnt client_read_failures)" "$failed"
wait_for 10 grep -q "version 'v1' was removed from the volume and its space is used again" daemon.log ||
    fail "no line about the version"
grep -q "a client that reads past the mount had trouble" daemon.log || fail "no line about the client"
datasetfsctl switch mnt v2 >/dev/null || fail "switch"
told it refresh 1
told it "compare two" "40 right, 0 failed"
unmount mnt
told it close closed

say "a version that is moved"
# Of v1, which fills the volume, v2 keeps every fourth file: compaction empties its segments, and v3 takes the space.
rm volume
fill some 80
mkdir kept
for ((i = 0; i < 80; i += 4)); do cp some/f$i kept/; done
pack volume some --label v1 --segment-size 1M
pack volume kept --label v2
mount_volume volume mnt
told_part it "open mnt" "direct v2"
datasetfsctl remove --force volume v1 2>/dev/null >&2 || fail "remove v1"
datasetfsctl compact --force volume >compact.log 2>&1 || fail "compact: $(cat compact.log)"
fill other 100
pack volume other --label v3
datasetfsctl current volume v2 >/dev/null
told it "compare kept" "20 right, 0 failed"
datasetfsctl switch mnt v2 >/dev/null
told it refresh 1 # the daemon has taken note of what it was told before it answers
failures=$(stats mnt client_checksum_failures)
[ "$failures" -gt 0 ] || fail "nothing was overwritten: the test shows nothing"
assert_eq "files that failed for good" "$(stats mnt client_read_failures)" 0
told it "compare kept" "20 right, 0 failed"
assert_eq "failures since" "$(stats mnt client_checksum_failures)" "$failures"
end_client it
unmount mnt
