#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan
# A mount of a volume of several members, and programs that read past it: whatever one member loses, the copies have,
# and nobody sees an error or a wrong byte; what no member has is EIO.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/client.sh"
need_fuse
export PATH=$DATASETFS_BUILD/tests/library:$PATH

mkdir -p source/many
for i in {1..300}; do head -c $((i * 97)) /dev/urandom >"source/many/$i"; done
head -c 6000000 /dev/urandom >source/large
for i in {1..30000}; do echo "line $i of a text that can be compressed"; done >source/text
segment=$((16 << 20)) # no column lies below this
pack one source
WAY=direct library-way one sums | sort >sums
WAY=direct library-way one parts | sort >parts

# reads_right WHAT: the mount, and the library by the mount and by the volume
reads_right() {
    compare source mnt || fail "$1: the mount has something else"
    local where
    for where in mnt a b,c,a; do
        WAY=direct library-way "$where" sums | sort | cmp - sums || fail "$1: sums by '$where'"
        WAY=direct library-way "$where" parts | sort | cmp - parts || fail "$1: parts by '$where'"
    done
}

# lose MEMBER: all that its columns hold
lose() {
    local size
    cp "$1" kept/
    size=$(stat -c %s "$1")
    truncate -s $segment "$1"
    truncate -s "$size" "$1"
}

mkdir kept
for protect in none mirror:2 mirror:3; do
    say "$protect"
    pack a,b,c source --protect $protect --compress zstd
    mount_volume b mnt
    reads_right "$protect"
    client it
    told it "open mnt" "direct v1"
    ask it quit
    unmount mnt
    rm -f it.to it.from
    [ $protect = none ] && rm a b c && continue
    for member in a b c; do
        lose $member
        : >daemon.log
        mount_volume c,b,a mnt
        reads_right "$protect without what $member had"
        assert_eq "failures" "$(stats mnt read_failures)" 0
        unmount mnt
        mv kept/$member $member
    done
    [ $protect = mirror:2 ] && rm a b c
done

say "more than there are copies of"
pack a,b,c source --protect mirror:2 --format
lose a
lose b
mount_volume c mnt
python3 - source mnt <<'END' || fail "two members lost"
import errno, os, sys
source, mount = sys.argv[1:]
good = bad = 0
for folder, _, names in os.walk(source):
    for name in names:
        path = os.path.relpath(os.path.join(folder, name), source)
        try:
            found = open(os.path.join(mount, path), "rb").read()
        except OSError as error:
            if error.errno != errno.EIO:
                sys.exit(f"fail: {path}: {error}")
            bad += 1
            continue
        if found != open(os.path.join(source, path), "rb").read():
            sys.exit(f"fail: wrong bytes in {path}")
        good += 1
if not good or not bad:
    sys.exit(f"fail: {good} files are right, {bad} give EIO: both were expected")
END
unmount mnt

need_loop
say "a member that goes away and comes back"
rm a b c kept/*
truncate -s 96M a b c
devices=()
for member in a b c; do
    loop_device $member
    devices+=("$LOOP")
done
# go_away, come_back: the second one, as if its cable were pulled
go_away() {
    : >b
    blockdev --flushbufs "${devices[1]}"
}
come_back() {
    cp kept/b b
    blockdev --flushbufs "${devices[1]}"
}
for protect in none mirror:2; do
    pack "${devices[0]},${devices[1]},${devices[2]}" source --protect $protect --format
    cp b kept/b
    : >daemon.log
    mount_volume "${devices[2]}" mnt
    go_away
    compare source mnt >compared 2>&1 &
    reader=$!
    if [ $protect = none ]; then
        wait_for 20 grep -q "have waited" daemon.log || fail "nobody waits: $(cat daemon.log)"
        come_back
    fi
    wait $reader || fail "$protect: $(cat compared)"
    assert_eq "failures" "$(stats mnt read_failures)" 0
    # The first attempt finds it if it came back before.
    wait_for 20 grep -qE "is lost, trying again|was lost and is open again" daemon.log ||
        fail "nobody looks for it: $(cat daemon.log)"
    unmount mnt
    [ $protect = none ] || come_back
done
