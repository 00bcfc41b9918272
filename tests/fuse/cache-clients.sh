#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan timeout=300
# Programs that read past a mount with a cache read that as the mount does: the library, datasetfs-run and Python read
# nothing of the volume once it has everything; and the bytes are right whatever becomes of the cache, of the server, of
# the folder and of the mount.
. "$DATASETFS_SOURCE/tests/lib/cache.sh"
. "$LIB/client.sh"
need_fuse
need_root # or a program that did not mount gets nothing
export PATH=$DATASETFS_BUILD/tests/library:$PATH

mixed_files source/folder 200
: >source/empty
printf 'in the index' >source/tiny
pack volume source --compress zstd
CHUNKS=$(chunks_in source/folder)
FILES=$(find source -type f | wc -l)
all="$FILES right, 0 failed"
OPTIONS=readahead=off,prefetch=off,cache=$PWD/cache,cache_size=80M

has_clients() { [ "$(stats mnt clients)" = "$1" ]; }

# past COMMAND…: runs it. PAST, HITS, WRONG: the reads of the volume, those of the cache, and those of it in vain, that
# programs have reported meanwhile; all have closed the volume in the end
past() {
    local before after
    read -ra before < <(reported)
    "$@" || fail "$*"
    wait_for 20 has_clients 0 || fail "clients: $(stats mnt clients)"
    read -ra after < <(reported)
    PAST=$((after[0] - before[0]))
    HITS=$((after[1] - before[1]))
    WRONG=$((after[2] - before[2]))
    echo "$*: $HITS reads of the cache, $PAST of the volume, $WRONG of the cache in vain"
}

# from_cache HITS COMMAND…: runs it until it reads nothing of the volume, and so often from the cache. On a busy machine
# reads of the cache are slow for a while, and the volume is read beside it: one run of ten must be so
from_cache() {
    local least=$1
    shift
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        past "$@"
        [ "$PAST" -gt 0 ] || [ "$HITS" -lt "$least" ] || return 0
    done
    fail "$*: $HITS reads of the cache, $PAST of the volume"
}

reported() {
    python3 -c 'import json
stats = json.load(open("mnt/.datasetfs/stats.json"))
print(*(stats["client_" + name] for name in ("device_reads", "local_cache_hits", "local_cache_errors")))'
}

# filled: everything is in the cache, what was dropped as well
filled() {
    wait_for 60 eval 'epoch mnt source && [ "$READS" = 0 ] && [ "$HITS" -ge 195 ]' ||
        fail "$READS reads of the volume, $HITS of the cache"
}

# way KIND: by the library, in large batches or in some other way, compared with the same through the mount
way() {
    WAY=direct library-way mnt "$1" >"$1.past"
    cmp "$1.through" "$1.past"
}

# one_by_one: another program, file by file
one_by_one() {
    client one
    told one "open mnt direct" "direct v1"
    told one "compare source" "$all"
    end_client one
}

say "everything comes from the cache"
cache_folder cache
mount_volume volume mnt -o "$OPTIONS"
for kind in sums parts queue; do
    WAY=mount library-way mnt $kind >$kind.through || fail "through the mount: $kind"
done
sort -o queue.through queue.through
filled
for command in "way sums" "way parts" one_by_one; do
    from_cache 195 $command
done
WAY=direct from_cache 1 eval 'library-way mnt queue | sort | cmp queue.through -'
# ThreadSanitizer does not bear threads that start in a forked process.
[ "${DATASETFS_SANITIZER:-}" = thread ] || WAY=direct from_cache 1 eval 'library-way mnt fork >fork.past'
[ "$(stats mnt client_local_cache_bytes)" -gt 20000000 ] || fail "bytes: $(stats mnt client_local_cache_bytes)"

if [ -e "$DATASETFS_BUILD/src/preload/libdatasetfs-preload.so" ]; then
    say "datasetfs-run and Python"
    from_cache 195 eval 'rm -f report; datasetfs-run --report=report cat mnt/folder/* | cmp - <(cat source/folder/*)'
    assert_eq "files that datasetfs-run served" "$(served report)" 200
    cat >epoch-of-workers.py <<'END'
import multiprocessing
import random
import datasetfs

data = datasetfs.DataSet("mnt", "folder", way="direct")
expected = sorted(open(f"source/folder/{i:03}", "rb").read() for i in range(200))
assert sorted(data[i] for i in random.sample(range(200), 200)) == expected
assert sorted(data.__getitems__(list(range(200)))) == expected
with multiprocessing.get_context("fork").Pool(2) as workers:
    assert sorted(workers.map(data.__getitem__, range(200))) == expected
    workers.close()
    workers.join()
END
    from_cache 590 env PYTHONPATH="$DATASETFS_BUILD/root/usr/share/datasetfs/python" python3 epoch-of-workers.py
fi
without_trouble mnt

say "what programs hit stays"
unmount mnt
# stamps [MINUTES]: the oldest hit of a slot in the saved map; or sets all
stamps() {
    python3 - cache/*/map "$@" <<'END'
import struct, sys
saved = bytearray(open(sys.argv[1], "rb").read())
count = struct.unpack_from("<I", saved, 40)[0]
slots = [struct.unpack_from("<II", saved, 56 + 8 * i) for i in range(count)]
if len(sys.argv) > 2:
    for i, (filled, _) in enumerate(slots):
        struct.pack_into("<II", saved, 56 + 8 * i, filled, int(sys.argv[2]) if filled else 0)
    open(sys.argv[1], "wb").write(saved)
print(min(hit for filled, hit in slots if filled))
END
}
spoil_data() {
    python3 - cache/*/data <<'END'
import os, sys
with open(sys.argv[1], "r+b") as data:
    for start in range(0, os.path.getsize(sys.argv[1]), 4096):  # a bit of each byte of each block that is there
        part = os.pread(data.fileno(), 4096, start)
        if any(part):
            os.pwrite(data.fileno(), bytes((byte ^ 1) for byte in part), start)
END
}
stamps 1 >/dev/null
assert_eq "the oldest hit" "$(stamps)" 1
mount_volume volume mnt -o "$OPTIONS"
wait_for 20 eval '[ "$(cached mnt used)" -gt 0 ]' || fail "nothing was loaded"
from_cache 1 way sums

say "wrong bytes at each place"
client twice
told twice "open mnt direct" "direct v1"
spoil_data
told twice "compare source" "$all"
told twice "compare source" "$all"
past end_client twice
[ "$HITS" = 0 ] && [ "$WRONG" -ge 195 ] && [ "$WRONG" -lt $((2 * CHUNKS)) ] ||
    fail "$HITS reads of the cache, $WRONG in vain"
[ "$PAST" -ge 390 ] || fail "$PAST reads of the volume"
past way sums
assert_eq "hits" "$HITS" 0
cmp mnt/folder/000 source/folder/000 || fail "the mount" # notices, and so the table is saved
unmount mnt
[ "$(stamps)" -gt 1 ] || fail "a slot that a program read has the time of no hit"
mount_volume volume mnt -o "$OPTIONS"
filled # and makes it right again
from_cache 1 way sums

say "the folder is dropped under a program"
client it
told it "open mnt direct" "direct v1"
told it "compare source" "$all"
datasetfsctl cache drop cache >/dev/null
told it "compare source" "$all"
past end_client it
past way sums
unmount mnt

say "servers are killed, and the next one fills more"
cache_folder cache
mount_volume volume mnt -o "$OPTIONS,channel=dev"
client late
told late "open mnt direct" "direct v1"
cat mnt/folder/0* >/dev/null
settled mnt 100
told late "compare source" "$all"
told late "readers 4 v1=source" reading
for _ in 1 2 3; do kill_server mnt; done
told late refresh 0
tell late stop
[[ $ANSWER =~ ^([0-9]+)\ right,\ 0\ failed ]] || fail "readers whose servers were killed: $ANSWER"
filled
# again: threads of the program read, and report at their end; all comes from the cache in one run of ten
again() {
    local files reads
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        files=$(stats mnt client_files)
        reads=$(stats mnt client_device_reads)
        told late "readers 4 v1=source" reading
        epoch mnt source
        tell late stop
        [[ $ANSWER =~ ^([0-9]+)\ right,\ 0\ failed ]] && [ "${BASH_REMATCH[1]}" -ge 50 ] || fail "readers: $ANSWER"
        files=$((files + BASH_REMATCH[1]))
        wait_for 20 eval '[ "$(stats mnt client_files)" -ge $files ]' || fail "fewer than $files files"
        [ "$(stats mnt client_device_reads)" != "$reads" ] || return 0
    done
    fail "$(stats mnt client_device_reads) reads of the volume, $reads before"
}
told late "compare source" "$all"
again
await_save cache "$CHUNKS"
kill_server mnt
told late "compare source" "$all" # by the table of the server that was killed
told late refresh 0
wait_for 20 eval '[ "$(cached mnt used)" -gt 0 ]' || fail "nothing was loaded"
again

say "a program outlives its mount"
kill_daemon mnt
umount -l mnt
told late "compare source" "$all"
mount_volume volume mnt -o "$OPTIONS"
epoch mnt source
told late "compare source" "$all"
told late refresh 0
told late "compare source" "$all"
end_client late
unmount mnt

say "it can be read, and not be changed, by a member of the group"
mount_volume volume mnt -o "$OPTIONS,direct_group=4343"
epoch mnt source
chmod 755 .
chmod 666 cache/*/data # whatever its mode
setpriv --reuid 65534 --regid 4343 --clear-groups --bounding-set=-all --inh-caps=-all \
    "$(PATH=/usr/bin:$PATH command -v python3)" - cache mnt <"$DATASETFS_SOURCE/tests/fuse/client_peers.py" \
    >peer.log 2>&1 || fail "$(cat peer.log)"
without_trouble mnt
epoch_from_cache mnt source 0
unmount mnt
