#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan timeout=300
# The server of a mount with a cache is killed while it fills: between a slot and its bytes, the bytes and their words,
# two words, and at any time under readers. They see nothing, and the next server goes on with what there is, or leaves
# the cache to other mounts.
. "$DATASETFS_SOURCE/tests/lib/cache.sh"
. "$LIB/steps.sh"
need_fuse
is_root || skip "only root has RESEND"

small_files source 7 500 0
pack volume source --compress none
OPTIONS=readahead=off,prefetch=off,channel=dev,cache=$PWD/cache,cache_size=200M

# is_full: an epoch reads nothing of the volume, or next to nothing
is_full() {
    epoch mnt source
    [ "$READS" -le 3 ] && [ "$WRONG" = 0 ]
}

say "at each step"
for step in cache-slot=k cache-written=k cache-word=k-; do
    letters=${step#*=} step=${step%=*}
    cache_folder cache
    mount_volume volume mnt -o "$OPTIONS"
    at_step "$step" "$letters"
    epoch mnt source
    wait_for 20 passed "$step" || fail "step '$step' was not passed"
    wait_for 20 more_than 0 || fail "no server died at '$step': $(tail -n 5 daemon.log)"
    wait_for 60 is_full || fail "after '$step' it is not full: $HITS reads of the cache, $READS of the volume"
    without_trouble mnt
    unmount mnt
done

say "at any time"
rounds=$(length 4 200)
cache_folder cache
mount_volume volume mnt -o "$OPTIONS"
for ((round = 1; round <= rounds; round++)); do
    [ $((round % 4)) != 0 ] || rm -f cache/*/map
    python3 "$LIB/epoch.py" mnt source $((++SEED)) &
    reader=$!
    kill_server mnt
    [ $((round % 2)) != 0 ] || kill_server mnt
    wait $reader || fail "an epoch in round $round"
done
wait_for 60 is_full || fail "it is not full: $HITS reads of the cache, $READS of the volume, $WRONG in vain"
without_trouble mnt
unmount mnt

say "without the volume's folder"
# is_unlocked FOLDER: no process holds the lock there
is_unlocked() {
    flock --nonblock "$1/lock" true
}
cache_folder cache
mount_volume volume mnt -o "$OPTIONS"
wait_for 60 is_full || fail "it is not full: $HITS reads of the cache, $READS of the volume"
folder=$(dirname cache/*/lock)
! is_unlocked "$folder" || fail "a mount that fills the cache has not locked it"
mv "$folder" moved
touch "$folder"
kill_server mnt
assert_contains "without the folder" "$(cat daemon.log)" "Not a directory, no contents are kept"
wait_for 20 is_unlocked moved || fail "a mount that goes on without the cache keeps it locked"
without_trouble mnt
unmount mnt
