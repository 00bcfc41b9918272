#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan
# A mount follows a change once so many members show it that it cannot be lost with as many as may be: of a mirrored
# volume two, of an unprotected one the first. So do switches by hand, and a mount of which a member is missing.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

label_is() {
    [ "$(json label mnt/.datasetfs/version)" = "$1" ]
}

# show STATE MEMBER: its superblocks are those of then
show() {
    dd if="$1/$2" of="$2" bs=64K count=8 conv=notrunc status=none
}

read_by_daemon() {
    awk '/^rchar/ { print $2 }' "/proc/$(stats mnt server_pid)/io"
}

# looked: at the superblocks of all members more than once, since it had read $before
looked() {
    [ "$(read_by_daemon)" -ge $((before + 24 * 8 * 4096)) ]
}

mkdir source1 source2 former newer away
for i in 1 2; do
    echo "small $i" >source$i/small
    head -c 300000 /dev/urandom >source$i/large
done

# prepare PROTECTION: what v2 needs is on all members, and no superblock names it
prepare() {
    pack a,b,c source1 --label v1 --segment-size 1M --protect "$1" --format
    cp a b c former
    pack a,b,c source2 --label v2
    cp a b c newer
    for member in a b c; do show former $member; done
}

prepare mirror:2
mount_volume a mnt -o follow=current:1
for first in a b c; do
    show newer $first
    before=$(read_by_daemon)
    wait_for 30 looked || fail "the mount does not look at the volume"
    label_is v1 || fail "the mount follows member '$first' alone"
    assert_fails 1 "the volume has no version 'v2'" datasetfsctl switch mnt v2
    assert_eq "versions that are shown" "$(ls mnt/.datasetfs/versions)" v1
    datasetfsctl switch mnt v1 >/dev/null || fail "what both states have cannot be opened"
    show former $first
done
show newer c
show newer b
wait_for 30 label_is v2 || fail "the mount does not follow two members: $(cat daemon.log)"
compare source2 mnt
show newer a
unmount mnt
grep -q "cannot follow" daemon.log && fail "it complains: $(cat daemon.log)"
say "two of three members"

for member in a b c; do show former $member; done
mv a away
mount_volume b mnt -o follow=current:1
show newer c
assert_fails 1 "the volume has no version 'v2'" datasetfsctl switch mnt v2
show newer b
wait_for 30 label_is v2 || fail "without member 0 the mount does not follow: $(cat daemon.log)"
compare source2 mnt
unmount mnt
mv away/a .
say "the first member is missing"

prepare none
mount_volume a mnt -o follow=current:1
show newer b
wait_for 30 label_is v2 || fail "the mount of an unprotected volume does not follow the first member"
compare source2 mnt
unmount mnt
say "an unprotected volume"

# A new mount takes the state that is in force, and stays with it.
prepare mirror:2
show newer a
mount_volume a mnt -o follow=current:1
label_is v2 || fail "the mount does not begin with what is in force"
datasetfsctl switch mnt v1 >/dev/null
datasetfsctl switch mnt v2 >/dev/null
compare source2 mnt
unmount mnt
