#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke daemon in=asan
# Volumes that must not be mounted: status 32, one line with the reason, no mount, no daemon.
. "$(dirname "$0")/../lib/common.sh"
need_fuse

tree random source --seed 5 --files 60
pack volume source
size=$(stat -c %s volume)
mkdir mnt

# refuses VOLUME MESSAGE [OPTIONS…]
refuses() {
    # One line: without channel=dev a notice about the channel may come before it.
    assert_fails 32 "$2" datasetfs -o channel=dev "${@:3}" "$1" mnt
    ! is_mounted mnt || fail "it is mounted all the same"
    wait_for 20 eval '[ -z "$(daemon_of mnt)" ]' || fail "a daemon is left: $(daemon_of mnt)"
}

refuses missing "missing"
refuses source "neither a regular file nor a block device"
mkfifo pipe
refuses pipe "neither a regular file nor a block device"
: >empty
refuses empty "empty"
head -c 2000000 /dev/zero >zeros
refuses zeros "zeros"
head -c 2000000 /dev/urandom >noise
refuses noise "noise"

# Truncated anywhere: a reason, or a mount that serves only right bytes.
for keep in 4096 100000 1048576 $((size / 2)) $((size - 4096)); do
    cp volume short
    truncate -s "$keep" short
    refuses short "short"
done
assert_contains "the reason of a truncated volume" "$(cat fails.err)" "$((size - 4096))"

# A damaged superblock ring, catalogue and index.
cp volume broken
for slot in 0 1 2 3 4 5 6 7; do
    printf '\377\377' | dd of=broken bs=1 seek=$((slot * 65536 + 100)) conv=notrunc status=none
done
refuses broken "superblock"
cp volume broken
read -r offset < <(datasetfsctl list --json volume | json versions.0.index.0.offset)
printf '\377\377\377\377' | dd of=broken bs=1 seek=$((offset + 5000)) conv=notrunc status=none
refuses broken "index"

# Mountpoints.
for words in no_such_option no_such_option=1 ro,no_such_option,nosuid; do
    assert_fails 2 "datasetfs: -o no_such_option: unknown, see datasetfs(8)" datasetfs -o $words volume mnt
done
assert_fails 2 "'version' needs a value" datasetfs -o version volume mnt
assert_fails 2 "'direct_group' needs a value" datasetfs -o direct_group= volume mnt
assert_fails 2 "'allow_other' takes no value" datasetfs -o allow_other=1 volume mnt
refuses volume "nowhere" -o version=nowhere
assert_fails 32 "missing-dir" datasetfs -o channel=dev volume missing-dir
: >plain
assert_fails 32 "plain" datasetfs -o channel=dev volume plain
assert_fails 2 "VOLUME" datasetfs volume
assert_fails 2 "" datasetfs volume mnt more

# The pin.
digest=$(datasetfsctl list --json volume | json versions.0.digest)
wrong=$(tr '0-9a-f' '1-9a-f0' <<<"${digest#sha256:}")
refuses volume "no version has the digest sha256:$wrong: 'datasetfsctl list $PWD/volume' shows those of all" \
    -o "digest=sha256:$wrong"
assert_fails 2 "digest" datasetfs -o digest=sha256:12 volume mnt
assert_fails 2 "digest" datasetfs -o digest=md5:00 volume mnt
assert_eq "the digest and the dump" "sha256:$(datasetfsctl dump volume | sha256sum | cut -d ' ' -f 1)" "$digest"
mount_volume volume mnt -o "digest=$digest"
compare source mnt
assert_contains "version of the mount" "$(cat mnt/.datasetfs/version)" "$digest"
unmount mnt

say "an older version, by its digest or the beginning of that"
cp volume two
mkdir newer && echo new >newer/file
pack two newer --label v2
newer=$(datasetfsctl list --json two v2 | json versions.0.digest)
for words in "digest=$digest" "version=${digest:0:23}" "version=$digest" "version=v1,digest=$digest" \
    "version=${digest:0:23},digest=$digest"; do
    mount_volume two mnt -o "$words"
    compare source mnt
    unmount mnt
done
refuses two "version 'v2' has the digest $newer, expected $digest, which version 'v1' has: choose it with version=v1" \
    -o "version=v2,digest=$digest"
refuses two "the volume has no version 'sha256:$wrong': choose one that it has, v1, v2" -o "version=sha256:$wrong"
refuses two "'${digest:0:22}': expected a label, or sha256: and the first digits of a digest, 16 to 64 of them" \
    -o "version=${digest:0:22}"
assert_fails 2 "has 63 characters, expected 64" datasetfs -o "digest=${digest::-1}" two mnt
unproven=$(datasetfsctl describe two "${digest:0:23}")
assert_contains "describe by a prefix" "$unproven" "digest       $digest"
assert_contains "list by a prefix" "$(datasetfsctl list two "$newer")" "  $newer"
assert_eq "versions in the list" "$(datasetfsctl list --json two "${newer:0:23}" | json versions | grep -c label)" 1
rm two

say "a second mount on the same mountpoint"
mount_volume volume mnt
pack second source
remedy=umount
[ "$(id -u)" = 0 ] || remedy="fusermount3 -u"
for volume in volume second; do
    assert_fails 32 "mountpoint 'mnt/': '$PWD/volume' is mounted there already: '$remedy $PWD/mnt', then mount again" \
        datasetfs $volume mnt/
done
assert_eq "mounts" "$(grep -cF " $PWD/mnt " /proc/self/mountinfo)" 1
if can_mount; then
    say "other filesystems may be covered, a covered mount is not in the way, and a bind mount is one like any other"
    mount -t tmpfs none mnt
    at_exit umount "$PWD/mnt"
    second=$DAEMON
    mount_volume second mnt
    unmount mnt
    DAEMON=$second
    umount mnt
    mkdir bound
    mount --bind mnt bound
    at_exit umount "$PWD/bound"
    assert_fails 32 "is mounted there already: 'umount $PWD/bound'" datasetfs second bound
    umount bound
fi
unmount mnt
