#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=tsan timeout=300
# datasetfsctl warm meets what else happens to a mount: readers, another warm, a server that dies, a switch, a signal,
# an unmount, damage. It goes on, or ends with one line that says why.
. "$DATASETFS_SOURCE/tests/lib/cache.sh"
need_fuse

mkdir source
python3 - "$SEED" <<'END'
import random, sys
random.seed(int(sys.argv[1]))
for i in range(60):  # each is a read of its own
    open(f"source/large{i}", "wb").write(random.randbytes(1000000))
for i in range(20):
    open(f"source/small{i}", "wb").write(random.randbytes(5000 + i))
END
FILES=80
pack volume source --compress none --label v1
pack volume source --compress none --label v2
datasetfsctl current volume v1 >/dev/null
slow_device volume slow 0 control
PLAIN=readahead=off,prefetch=off

# fresh VOLUME [OPTIONS]: a mount with an empty cache
fresh() {
    cache_folder cache
    mount_volume "$1" mnt -o "$PLAIN,cache=$PWD/cache,cache_size=100M${2:+,$2}"
}

# begin NAME: warms in the background, has begun, and needs a quarter of a minute
begin() {
    local before
    before=$(cached mnt fills)
    slow_control control 1000000
    datasetfsctl warm --json mnt >"$1.out" 2>"$1.err" &
    WARM=$!
    wait_for 60 eval "[ \$(cached mnt fills) -gt $before ]" || fail "$1: nothing is filled: $(cat "$1.err")"
}

# ended NAME STATUS LINE
ended() {
    local rc=0
    wait "$WARM" || rc=$?
    slow_control control 0
    cat "$1.out"
    assert_eq "$1: status" $rc "$2"
    if [ -n "$3" ]; then
        assert_contains "$1: the line" "$(cat "$1.err")" "$3"
        assert_eq "$1: lines" "$(wc -l <"$1.err")" 1
    else
        assert_eq "$1: the line" "$(cat "$1.err")" ""
    fi
}

# complete NAME: it has warmed all
complete() {
    assert_eq "$1: its end" "$(json end "$1.out")" "done"
    assert_eq "$1: files in the cache" "$(json cached.files "$1.out")" $FILES
    epoch_from_cache mnt source 4
    without_trouble mnt
}

say "two at once, beside readers"
fresh volume
datasetfsctl warm --json mnt >first.out 2>first.err &
FIRST=$!
datasetfsctl warm --json mnt >second.out 2>second.err &
WARM=$!
epoch mnt source 8
ended second 0 ""
WARM=$FIRST
ended first 0 ""
complete second
complete first
unmount mnt

say "a server that dies"
fresh slow channel=dev
begin killed
kill_server mnt
slow_control control 0
ended killed 0 ""
complete killed
unmount mnt

say "a switch"
fresh slow
begin switched
datasetfsctl switch mnt v2 >/dev/null
ended switched 1 "cannot warm 'mnt': the mount was switched to version 'v2'"
datasetfsctl warm mnt | grep -q "version 'v2': $FILES files" || fail "the other version"
unmount mnt

say "a signal"
fresh slow
begin signalled
kill -TERM $WARM
ended signalled 143 "cannot warm 'mnt': interrupted"
assert_eq "its end" "$(json end signalled.out)" stopped
CACHED=$(json cached.files signalled.out)
if [ "$CACHED" = 0 ] || [ "$CACHED" -ge $FILES ]; then fail "$CACHED files in the cache"; fi

say "an unmount"
begin unmounted
unmount mnt
ended unmounted 1 "cannot warm 'mnt': the mount is gone: not on a datasetfs mount"

say "a daemon that is killed"
fresh slow
begin dead
kill_daemon mnt
ended dead 1 "the daemon of this mount is gone"
command umount -l mnt 2>/dev/null || fusermount3 -uz mnt

say "a mount whose cache another one fills"
fresh volume
FIRST=$DAEMON
mount_volume volume second -o "$PLAIN,cache=$PWD/cache,cache_size=100M"
SECOND=$DAEMON
mount_volume volume third -o "$PLAIN,cache=$PWD/cache,cache_size=100M"
THIRD=$DAEMON
cache_folder elsewhere
mount_volume volume fourth -o "$PLAIN,cache=$PWD/elsewhere,cache_size=100M"
FOURTH=$DAEMON
OTHER="another mount of the volume on this machine fills its cache, warm that one"
assert_fails 1 "cannot warm 'third': $OTHER: '$PWD/mnt'" datasetfsctl warm third
assert_fails 1 "cannot warm 'second': $OTHER: '$PWD/mnt'" datasetfsctl warm second
for mount in mnt:false second:true third:true fourth:false; do
    assert_eq "$mount follows" "$(stats "${mount%:*}" local_cache_follows)" "${mount#*:}"
done
datasetfsctl warm fourth
DAEMON=$FOURTH
unmount fourth
DAEMON=$THIRD
unmount third
datasetfsctl warm mnt
DAEMON=$FIRST
unmount mnt
DAEMON=$SECOND
unmount second

say "a cache that was removed"
fresh volume
datasetfsctl warm mnt
READS=$(stats mnt device_reads)
rm -f cache/*/index/*
datasetfsctl cache drop cache >text
grep -Ex "contents dropped, [0-9.]+ MiB" text || fail "drop: $(cat text)"
assert_fails 1 "cannot warm 'mnt': the cache was removed, mount again" datasetfsctl warm mnt
rm -r cache
assert_fails 1 "cannot warm 'mnt': the cache was removed, mount again" datasetfsctl warm mnt
assert_eq "reads for nothing" "$(stats mnt device_reads)" "$READS"
unmount mnt

say "a file that is damaged, in the midst of others"
spoil volume "$(datasetfsctl stat --json volume small7 | json chunks.0.device_offset)"
fresh volume
datasetfsctl warm --json mnt >damaged.out 2>damaged.err &
WARM=$!
ended damaged 1 "cannot warm 'mnt': 1 file cannot be read, the first is '/small7': "
assert_eq "files in the cache" "$(json cached.files damaged.out)" $((FILES - 1))
assert_eq "files that are missing" "$(json missing.files damaged.out)" 1
unmount mnt
