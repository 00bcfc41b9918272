#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan timeout=300
# Whatever becomes of a cache, readers get the bytes of the volume, without an error: wrong bytes everywhere, a file
# that was cut off, a folder that was removed, and a full disk.
. "$DATASETFS_SOURCE/tests/lib/cache.sh"
need_fuse

small_files source 7 400 0
pack volume source --compress none
CHUNKS=$(find source -type f -size +4k -printf '%s\n' | awk '{ n += int(($1 + 131071) / 131072) } END { print n }')
PLAIN=readahead=off,prefetch=off

# fresh: a mount with a new cache that has everything
fresh() {
    cache_folder cache
    mount_volume volume mnt -o "$PLAIN,cache=$PWD/cache,cache_size=120M"
    epoch mnt source
    filled mnt source "$CHUNKS"
}

say "wrong bytes at each place"
fresh
python3 - cache/*/data <<'END'
import os, sys
with open(sys.argv[1], "r+b") as data:
    for start in range(0, 120 << 20, 4096):  # a bit of each block that is there
        part = os.pread(data.fileno(), 4096, start)
        if any(part):
            os.pwrite(data.fileno(), bytes((byte ^ 1) for byte in part), start)
END
epoch mnt source
[ "$WRONG" -ge 390 ] && [ "$HITS" = 0 ] || fail "$HITS reads of the cache, $WRONG in vain"
filled mnt source $((2 * CHUNKS))
epoch_from_cache mnt source 3
without_trouble mnt

say "the data is cut off"
truncate -s 0 cache/*/data
epoch mnt source
epoch mnt source
without_trouble mnt
unmount mnt

say "the saved map is made up"
for kind in random short other; do
    python3 - cache/*/map $kind <<'END'
import os, random, sys
name, kind = sys.argv[1:]
saved = open(name, "rb").read()
made = {"random": saved[:56] + random.randbytes(len(saved) - 56), "short": saved[:-100],
        "other": saved[:16] + bytes(16) + saved[32:]}[kind]
open(name, "wb").write(made)
END
    mount_volume volume mnt -o "$PLAIN,cache=$PWD/cache,cache_size=120M"
    epoch mnt source
    epoch mnt source
    without_trouble mnt
    unmount mnt
done

say "the folder is removed while files are read"
fresh
python3 "$LIB/epoch.py" mnt source 1 &
reader=$!
wait_for 20 rm -rf cache # while the daemon adds to it
wait $reader || fail "an epoch"
epoch mnt source
without_trouble mnt
unmount mnt

say "a disk that is full"
need_mount
cache_folder small
mount -t tmpfs -o size=48M,mode=700 tmpfs small
at_exit umount small
mount_volume volume mnt -o "$PLAIN,cache=$PWD/small"
size=$(cached mnt size)
[ "$size" -gt 30000000 ] && [ "$size" -le 45000000 ] || fail "it may take $size bytes of 48 MiB"
head -c 40M /dev/zero >small/other
epoch mnt source
epoch mnt source
used=$(df --output=avail -B1 small | tail -n 1)
[ "$used" -ge $((4 << 20)) ] || fail "$used bytes are left of 48 MiB"
assert_eq "lines about it" "$(grep -c "nothing is added until there is room again" daemon.log)" 1
without_trouble mnt
rm small/other
wait_for 60 eval 'epoch mnt source; [ "$HITS" -gt 50 ]' || fail "it does not go on when there is room: $HITS"
unmount mnt
