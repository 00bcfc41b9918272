#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan
# A volume that was lost and that its daemon opened again, under clients past the mount: their descriptor leads to what
# was lost, so they read through the mount, at once, until dsfs_refresh() takes the new descriptor.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/client.sh"
need_fuse
need_loop

mkdir source
for i in {0..39}; do head -c $((10000 + i * 7777)) /dev/urandom >source/f$i; done
truncate -s 32M first
pack first source --compress none
cp first second
loop_device first
one=$LOOP
loop_device second
ln -s "$one" link

is_open_again() { grep -q "was lost and is open again" daemon.log; }

# soon NAME: it has read all, long before each file could have waited for the device that is gone
soon() {
    answer "$1" 60
    assert_eq "$1" "${ANSWER% }" "40 right, 0 failed"
}

mount_volume "$PWD/link" mnt
client early
client late
for name in early late; do told_part $name "open mnt direct" "direct v1"; done
told late "compare source" "40 right, 0 failed"

say "the device goes away under reads, and the volume comes back elsewhere"
: >first
blockdev --flushbufs "$one"
ask early "compare source"
cat mnt/f0 >f0 &
reader=$!
wait_for 20 grep -q "have waited 1 s" daemon.log || fail "nothing waits: $(cat daemon.log)"
ln -sfn "$LOOP" link
wait_for 20 is_open_again || fail "not open again: $(cat daemon.log)"
wait $reader || fail "the mount's reader"
soon early

say "reads that begin afterwards"
ask late "compare source"
soon late
ask late "forked compare source"
soon late
assert_eq "files that failed for good" "$(stats mnt client_read_failures)" 0

say "the new descriptor"
for name in early late; do
    told $name refresh 0
    told_part $name info "direct v1"
done
told late "compare source" "40 right, 0 failed"
for name in early late; do end_client $name; done
unmount mnt
