#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon channels in=asan timeout=300
# A mount with a cache: what was read once comes from this machine, after another mount, after a kill and in the next
# version as well; a cache that holds half gives half of each epoch; several mounts share one.
. "$DATASETFS_SOURCE/tests/lib/cache.sh"
need_fuse

mixed_files source 300
mkdir source/large
cat source/[0-9]* | tail -c 3M >source/large/file
: >source/empty
printf 'in the index' >source/tiny
pack volume source --compress zstd
CHUNKS=$(chunks_in source)
PLAIN=readahead=off,prefetch=off

say "an option without its folder, and sizes"
cache_folder cache
assert_fails 2 "mount option 'cache_size' needs 'cache', the folder" datasetfs -o cache_size=1G volume mnt
assert_fails 2 "mount option 'cache_size': '1M'" datasetfs -o "cache=$PWD/cache,cache_size=1M" volume mnt
mount_volume volume mnt -o "cache=$PWD/cache,cache_size=1000T"
room=$(($(stat -f -c '%b * %S' cache) / 10 * 9))
[ "$(cached mnt size)" -gt 0 ] && [ "$(cached mnt size)" -le "$room" ] || fail "$(cached mnt size) of $room"
unmount mnt
cache_folder cache

say "the second epoch"
mount_volume volume mnt -o "$PLAIN,cache=$PWD/cache,cache_size=80M"
epoch mnt source
assert_eq "reads of an empty cache" "$HITS" 0
filled mnt source "$CHUNKS"
epoch_from_cache mnt source 8
[ "$HITS" -ge 300 ] || fail "$HITS reads of the cache"
LARGE=$READS # the large file alone
epoch_from_cache mnt source $((LARGE + 12)) 16
compare source mnt
without_trouble mnt
[ "$(cached mnt used)" -gt 10000000 ] && [ "$(cached mnt used)" -le "$(cached mnt size)" ] ||
    fail "used: $(cached mnt used) of $(cached mnt size)"
datasetfsctl status mnt | grep 'local cache' || fail "status says nothing of it"
datasetfsctl describe mnt >text
grep -E "^cache +'$PWD/cache' of this machine keeps contents, [0-9.]+ MiB of [0-9.]+ MiB used$" text ||
    fail "describe: $(head text)"
datasetfsctl describe --json mnt >survey.json
assert_eq "folder" "$(json cache.folder survey.json)" "$PWD/cache"
assert_eq "bytes" "$(json cache.used_bytes survey.json) of $(json cache.size_bytes survey.json)" \
    "$(cached mnt used) of $(cached mnt size)"
unmount mnt

say "another mount finds it, with each engine"
for options in io=uring,channel=dev io=threads,channel=dev window=auto; do
    mount_volume volume mnt -o "$PLAIN,cache=$PWD/cache,cache_size=80M,$options"
    wait_for 20 eval '[ "$(cached mnt used)" -gt 0 ]' || fail "nothing was loaded"
    epoch_from_cache mnt source $((LARGE + 8))
    without_trouble mnt
    unmount mnt
done
[ "$(du -sm cache | cut -f 1)" -le 80 ] || fail "it takes more than it may: $(du -sm cache)"
datasetfsctl cache list cache | grep -E ' contents +- +[0-9.]+ MiB ' || fail "list: $(datasetfsctl cache list cache)"
[ "$(datasetfsctl cache list --json cache | json volumes.0.content_bytes)" -gt 20000000 ] || fail "no contents"
mount_volume volume mnt -o "$PLAIN,cache=$PWD/cache,cache_size=80M"
datasetfsctl cache drop cache >text
grep -Ex "contents and [0-9]+ cop(y|ies) dropped, [0-9.]+ MiB" text || fail "drop: $(cat text)"
assert_eq "what is left" "$(find cache -name data -o -name map)" ""
epoch mnt source # of what is no longer there
without_trouble mnt
unmount mnt

say "two mounts share it: one fills, the other goes on"
cache_folder cache
mount_volume volume mnt -o "$PLAIN,cache=$PWD/cache,cache_size=80M"
FIRST=$DAEMON
epoch mnt source
filled mnt source "$CHUNKS"
await_save cache "$CHUNKS"
mount_volume volume second -o "$PLAIN,cache=$PWD/cache,cache_size=80M"
wait_for 20 eval '[ "$(cached second used)" -gt 0 ]' || fail "nothing was loaded"
epoch second source
[ "$HITS" -ge 290 ] || fail "$HITS reads of the cache"
assert_eq "chunks that the second one filled" "$(cached second fills)" 0
SECOND=$DAEMON DAEMON=$FIRST
unmount mnt
DAEMON=$SECOND
unmount second

say "files that walkers are given ahead are not kept"
cache_folder cache
# On a machine that has other work as well, the walker may be the faster one: then again.
for _ in {1..10}; do
    mount_volume volume mnt -o "cache=$PWD/cache,cache_size=80M"
    tar -cf - -C mnt . | tar -df - -C source || fail "a walk"
    WALKED=$(cached mnt fills)
    unmount mnt
    [ "$WALKED" -ge 150 ] || break
    cache_folder cache
done
[ "$WALKED" -lt 150 ] || fail "a walk filled $WALKED chunks"

say "half of it"
rm -rf half && mkdir half
python3 - "$SEED" <<'END'
import random, sys
random.seed(int(sys.argv[1]))
for i in range(1000):
    open(f"half/{i}", "wb").write(random.randbytes(61440))
END
pack half.vol half --compress none
cache_folder cache
mount_volume half.vol mnt -o "$PLAIN,cache=$PWD/cache,cache_size=32M"
is_full() { [ "$(cached mnt used)" = "$(cached mnt size)" ]; }
# takes_no_more: since the last look, longer than a chunk waits for others to be written with it
takes_no_more() {
    local fills=$HELD
    sleep 0.5
    HELD=$(cached mnt fills)
    [ "$HELD" = "$fills" ]
}
for _ in {1..10}; do
    epoch mnt half # again: what was dropped, as the cache's drive was too slow
    ! wait_for 10 is_full || break
done
HELD=
wait_for 20 takes_no_more || fail "it takes more and more: $HELD"
for i in 1 2 3; do
    epoch mnt half
    python3 - "$READS" "$HELD" <<'END' || fail "epoch $i: $READS of 1000 reads, $HELD held"
import sys
reads, held = map(int, sys.argv[1:])
assert abs(reads / 1000 - (1 - held / 1000)) <= 0.01 and 0.45 <= held / 1000 <= 0.56, (reads, held)
END
done
assert_eq "chunks that replaced others" "$(cached mnt fills)" "$HELD"
without_trouble mnt
unmount mnt

say "kill -9 of all"
cache_folder cache
mount_volume volume mnt -o "$PLAIN,cache=$PWD/cache,cache_size=80M"
epoch mnt source
filled mnt source "$CHUNKS"
await_save cache "$CHUNKS"
kill_daemon mnt
command umount -l mnt 2>/dev/null || fusermount3 -uz mnt
mount_volume volume mnt -o "$PLAIN,cache=$PWD/cache,cache_size=80M"
wait_for 20 eval '[ "$(cached mnt used)" -gt 0 ]' || fail "nothing was loaded"
epoch_from_cache mnt source $((LARGE + 3))

say "another server goes on with what was filled, of which nothing was saved"
# goes_on WHAT: it has all that there was, and no other mount can fill
goes_on() {
    epoch mnt source
    [ $((HITS * 100)) -ge $((FULL * 99)) ] && [ "$WRONG" = 0 ] ||
        fail "$1: $HITS reads of the cache, $FULL before, $WRONG in vain"
    ! flock --nonblock cache/*/lock true || fail "$1: another mount may fill"
    without_trouble mnt
}
unmount mnt
cache_folder cache
mount_volume volume mnt -o "$PLAIN,cache=$PWD/cache,cache_size=80M,channel=dev"
epoch mnt source
settled mnt "$CHUNKS"
epoch mnt source
FULL=$HITS
rm cache/*/map
kill_server mnt
goes_on "after a kill"
rm -f cache/*/map
datasetfsctl upgrade mnt >upgrade.out 2>&1 || fail "upgrade: $(cat upgrade.out daemon.log)"
goes_on "after an upgrade"
unmount mnt
flock --nonblock cache/*/lock true || fail "the lock outlives the mount"

say "a version with 1 % changed"
mkdir parts
python3 - "$SEED" <<'END'
import random, sys
random.seed(int(sys.argv[1]))
for i in range(500):
    open(f"parts/{i}", "wb").write(random.randbytes(8000 + i))
END
pack parts.vol parts --label v1
cache_folder cache
mount_volume parts.vol mnt -o "$PLAIN,cache=$PWD/cache,cache_size=80M"
epoch mnt parts
settled mnt 500
for i in 7 107 207 307 407; do head -c 8100 /dev/urandom >parts/$i; done
pack parts.vol parts --label v2
datasetfsctl switch mnt v2
epoch mnt parts
[ $((HITS * 100)) -ge $((500 * 98)) ] || fail "$HITS reads of the cache in the first epoch, of 500"
without_trouble mnt
unmount mnt
