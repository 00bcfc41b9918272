#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan
# libdatasetfs opens a version through a mount although compaction has moved it: the one that is served, where it was,
# and another one, of which the kernel knows the former place for some seconds.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
export PATH=$DATASETFS_BUILD/tests/library:$PATH

mkdir source
for i in {1..60}; do head -c 50000 /dev/urandom >source/$i; done
pack former source --label v1 --segment-size 1M
for i in {1..60}; do ((i % 4 == 0)) || echo "changed $i" >source/$i; done
pack former source --label v2
mkdir other && echo content >other/file
pack former other --label v3

# moved: of 'volume', v2 is
moved() {
    datasetfsctl remove --force volume v1 2>/dev/null >&2 || fail "remove v1"
    datasetfsctl compact --force --json volume >compact.json 2>/dev/null || fail "compact"
    grep -q '"label": *"v2"' compact.json || fail "v2 was not moved: $(cat compact.json)"
}
# opened: reads v2 through the mount, and compares
opened() {
    VERSION=v2 WAY=mount library-way mnt sums >mount.out 2>&1 || return 1
    VERSION=v2 WAY=direct library-way volume sums >direct.out
    cmp <(sort direct.out) <(sort mount.out)
}

say "the version that is served"
cp former volume
mount_volume volume mnt -o version=v2
moved
opened || fail "$(cat mount.out)"
unmount mnt

say "another version"
cp former volume
mount_volume volume mnt -o version=v3
stat mnt/.datasetfs/versions/v2 >/dev/null
moved
opened & process=$!
expire mnt/.datasetfs/versions v2
wait $process || fail "$(cat mount.out)"
unmount mnt
