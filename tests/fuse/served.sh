#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# 'remove' and 'compact' without --force take away nothing that mounts of this machine serve: they name the mounts, also
# one that does not say what it serves. Mounts that follow do not hold 'compact' up.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

# held VERB… : the verb is refused, and the volume is what it was; its lines are in err
held() {
    local before
    before=$(sha256sum volume)
    ! datasetfsctl "$@" >out 2>err || fail "not refused: $*"
    assert_eq "the volume after a refusal" "$(sha256sum volume)" "$before"
}

# lines LINE…: just these
lines() {
    assert_eq "lines" "$(cat err)" "$(printf 'datasetfsctl: %s\n' "$@")"
}

mkdir source mnt other
for i in {0..39}; do head -c 50000 /dev/urandom >source/$i; done
pack volume source --label v1 --segment-size 1M
rm source/?
pack volume source --label v2
rm source/1?
pack volume source --label v3

say "a version that a mount serves is not removed"
mount_volume volume mnt -o version=v1
refusal="would lose what it serves: switch to another version first, or use --force"
held remove volume v1
lines "'$PWD/mnt' serves version 'v1'" "cannot remove 'v1' from 'volume': 1 mount of this machine $refusal"
if can_mount; then
    mount --bind mnt other
    at_exit umount "$PWD/other"
    held remove volume v1
    lines "'$PWD/mnt' serves version 'v1'" "cannot remove 'v1' from 'volume': 1 mount of this machine $refusal"
    umount other
fi

say "whatever the volume is called now"
mv volume renamed
! datasetfsctl remove renamed v1 2>err || fail "removed"
lines "'$PWD/mnt' serves version 'v1'" "cannot remove 'v1' from 'renamed': 1 mount of this machine $refusal"
mv renamed volume

say "a copy of the volume and other versions are nobody's"
cp volume copy
datasetfsctl remove copy v1 >/dev/null 2>err || fail "a copy: $(cat err)"
uuid=$(datasetfsctl list --json copy | json uuid)
lines "mounts on other hosts cannot be seen from here: any that still serves 'v1' fails with EIO once the space is \
used again; Prometheus finds them by datasetfs_version_info{volume_uuid=\"$uuid\",sequence=\"1\"}"
grep -q "^datasetfs_version_info{.*,sequence=\"1\",volume_uuid=\"$uuid\"," mnt/.datasetfs/metrics ||
    fail "Prometheus would not find it: $(grep version_info mnt/.datasetfs/metrics)"
datasetfsctl switch mnt v2 >/dev/null
assert_eq "mounts" "$(datasetfsctl remove --json volume v1 2>/dev/null | json mounts)" "[]"

say "compaction names what it would move"
held compact --below 95 volume
lines "'$PWD/mnt' serves version 'v2'" "cannot compact 'volume': 1 mount of this machine would lose what it serves: \
use --force, and switch to the same version afterwards"
datasetfsctl compact --below 95 --dry-run --json volume >out 2>err || fail "dry run: $(cat err)"
lines "'$PWD/mnt' serves version 'v2'"
assert_eq "mounts" "$(json mounts.0 out)" "$PWD/mnt"
kept=$(sha256sum mnt/39)
datasetfsctl compact --below 95 --force --json volume >out 2>err || fail "with --force: $(cat err)"
assert_eq "mounts" "$(json mounts.0 out)" "$PWD/mnt"
assert_contains "the mount is named" "$(cat err)" "'$PWD/mnt' serves version 'v2'"

say "what it serves is given back to the filesystem only by --force"
held compact --below 1 --give-back volume
lines "'$PWD/mnt' serves version 'v2'" "cannot compact 'volume': 1 mount of this machine would lose what it serves: \
compact without --give-back and switch, or use --force"
assert_eq "the moved file" "$(sha256sum mnt/39)" "$kept"
datasetfsctl switch mnt v2 >/dev/null
datasetfsctl compact --below 1 --give-back volume >out 2>err || fail "after the switch: $(cat err)"
assert_eq "the moved file" "$(sha256sum mnt/39)" "$kept"
unmount mnt

say "a mount that follows holds up 'remove', and 'compact' only when it would lose its data at once"
rm volume source/*
for i in {0..39}; do head -c 50000 /dev/urandom >source/$i; done
pack volume source --label v1 --segment-size 1M
rm source/?[1-9]
pack volume source --label v2
echo more >source/more
pack volume source --label v3
mount_volume volume mnt -o follow=current:1
datasetfsctl switch mnt v2 >/dev/null
held remove volume v2
datasetfsctl remove volume v1 >/dev/null 2>&1 || fail "what nobody serves"
held compact --below 95 --give-back volume
datasetfsctl compact --below 95 --json volume >out 2>err || fail "compact: $(cat err)"
assert_eq "v2" "$(json versions.0.label out) $(json versions.0.former_sequence out)" "v2 2"
assert_eq "mounts" "$(json mounts out)" "[]"
sequence=$(json versions.0.sequence out)
[ "$sequence" -gt 2 ] || fail "v2 was not moved: $(cat out)"
follows() {
    [ "$(json sequence mnt/.datasetfs/version)" = "$sequence" ]
}
wait_for 20 follows || fail "it does not follow"

say "one that does not answer may serve it"
kill -STOP "$DAEMON" "$SERVER" # the one would replace the other
at_exit kill -CONT "$DAEMON" "$SERVER"
held remove volume v2
[[ $(head -n 1 err) == "datasetfsctl: '$PWD/mnt' may serve it: it has not answered for "* ]] || fail "$(cat err)"
datasetfsctl remove --force --json volume v2 >out 2>err || fail "with --force: $(cat err)"
assert_eq "mounts" "$(json mounts.0 out)" "$PWD/mnt"
kill -CONT "$DAEMON" "$SERVER"
unmount mnt
