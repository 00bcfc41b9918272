#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke daemon channels in=tsan,gcc:ring
# A program that reads files in the order of the tree gets the next ones before it asks: the right bytes, and no more
# than the mount option allows; any other program costs nothing. Damage stays where it is, and a switch, an unmount or a
# daemon that is killed find a walker like any other reader.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
hold_caches # what is stored stays stored

AHEAD=$DATASETFS_SOURCE/tests/fuse/ahead.py
SMALL=960 # files of source/small

# read_in ORDER ARGUMENT [FOLDER]
read_in() {
    python3 "$AHEAD" "$1" "source/${3:-}" "mnt/${3:-}" "$2" || fail "read_in $*"
}

# ahead_of LEAST COMMAND…: on a new mount, with the options, which stays; more than LEAST files are read ahead of the
# command. On a machine that has other work as well, the reader may be the faster one: then again.
options=()
ahead_of() {
    local found=0
    for _ in {1..10}; do
        mount_volume volume mnt "${options[@]}"
        "${@:2}"
        found=$(stats mnt ahead_files)
        [ "$found" -le "$1" ] || return 0
        unmount mnt
    done
    fail "${*:2}: read ahead: $found"
}

# Eight folders of small files, and larger ones with everything that a file can be made of.
python3 - "$SMALL" <<'END'
import os, random
from sys import argv
r = random.Random(7)
for i in range(int(argv[1])):
    os.makedirs(f"source/small/d{i // 120}", exist_ok=True)
    open(f"source/small/d{i // 120}/f{i % 120:03}", "wb").write(
        r.randbytes(r.randrange(5000, 11000)))
os.makedirs("source/mixed/a/b")
for i in range(60):
    path = f"source/mixed/{'a/' if i % 3 else ''}{'b/' if i % 3 == 2 else ''}m{i:03}"
    kind = i % 10
    with open(path, "wb") as file:
        if kind == 1:
            file.write(b"in the index")
        elif kind == 2:
            file.write(b"compressed as well as can be " * r.randrange(100, 9000))
        elif kind == 3:
            file.write(r.randbytes(r.randrange(100000, 900000)))
        elif kind == 4: # a hole
            file.write(r.randbytes(200000))
            file.truncate(700000)
        elif kind == 5 and i < 20:
            file.write(r.randbytes(2500000))
        elif kind == 6:
            file.write(r.randbytes(4096 * r.randrange(1, 9)))
        elif kind != 7: # which stays empty
            file.write(r.randbytes(r.randrange(1, 20000)))
os.link("source/mixed/m000", "source/mixed/a/other-name")
os.symlink("m000", "source/mixed/a/link")
END
pack volume source --label v1 --compress zstd

say "tar, cp and grep see the same tree"
by_tar() { rm -rf out && mkdir out && tar cf - -C mnt . | tar xf - -C out; }
by_cp() { rm -rf out && cp -r --preserve=links,mode,timestamps mnt out; }
for how in by_tar by_cp; do
    ahead_of $SMALL $how
    diff -r --no-dereference source out || fail "$how"
    unmount mnt
done
by_grep() { (cd mnt && grep -r -c '' .) | sort >found; }
ahead_of $SMALL by_grep
(cd source && grep -r -c '' .) | sort >expected
cmp found expected || fail "grep"
rm -r out
unmount mnt

say "again, and in order only"
ahead_of $((SMALL / 2)) read_in walk 2 small
[ "$(stats mnt ahead_stored)" -gt 0 ] || fail "nothing was stored"
[ "$(stats mnt ahead_device_reads)" -lt "$(stats mnt device_reads)" ] || fail "no READ went to the device"
read_in walk 1 mixed
read_in walk 1
unmount mnt

enough_for_smoke
say "several walkers"
by_eight() {
    local walkers=() walker i
    for i in {0..7}; do
        python3 "$AHEAD" walk source/small/d$i mnt/small/d$i 1 & walkers+=($!)
    done
    for walker in "${walkers[@]}"; do wait "$walker" || fail "a walker of several"; done
}
ahead_of 0 by_eight
[ "$(stats mnt ahead_files)" -le $((SMALL + 60)) ] || fail "8 walkers: ahead $(stats mnt ahead_files)"
unmount mnt

say "shuffled readers cost nothing"
mount_volume volume mnt
for seed in 1 2 3; do read_in shuffle $seed; done
assert_eq "ahead_device_reads" "$(stats mnt ahead_device_reads)" 0
assert_eq "ahead_files" "$(stats mnt ahead_files)" 0
unmount mnt

say "it ends with the order"
options=(-o readahead=2M)
ahead_of 0 read_in broken 30 small
options=()
[ "$(stats mnt ahead_files)" -le 350 ] || fail "ahead of 30 files: $(stats mnt ahead_files)"
unmount mnt

say "the counters stand as in the manual page"
mount_volume volume mnt
# Of the table behind stats.json, the first column: "a, b<tab>…".
awk '/^Counters since the mount/ { on = 1 } /^\.TE/ { on = 0 } on' "$DATASETFS_SOURCE/man/datasetfs-control.5" |
    grep -oP '^[a-z][a-z_, ]*(?=\t)' | tr -d ' ' | tr , '\n' | sort >documented
python3 -c 'import json, sys; print(*json.load(sys.stdin), sep="\n")' <mnt/.datasetfs/stats.json | sort >counted
cmp documented counted || fail "$(diff documented counted)"
unmount mnt

say "off"
mount_volume volume mnt -o readahead=off
read_in walk 1
for field in files bytes stored served dropped failures device_reads; do
    assert_eq "ahead_$field" "$(stats mnt ahead_$field)" 0
done
unmount mnt
for value in 1M 2G on; do
    assert_fails 2 "mount option 'readahead': '$value': expected off, or 2M to 1G" \
        datasetfs -o readahead=$value volume mnt
done
mount_volume volume mnt -o readahead=0
read_in walk 1
assert_eq "ahead_files with 0" "$(stats mnt ahead_files)" 0
unmount mnt

# memory_group LIMIT: the daemon in a control group with so many bytes; false where there is none
memory_group() {
    local top=/sys/fs/cgroup/memory file=memory.limit_in_bytes
    [ -d $top ] || { top=/sys/fs/cgroup file=memory.max; echo +memory >$top/cgroup.subtree_control; } 2>/dev/null ||
        return 1
    GROUP=$top/datasetfs-test-$$
    [ -d "$GROUP" ] || { mkdir "$GROUP" && at_exit wait_for 10 rmdir "$GROUP"; } 2>/dev/null || return 1
    echo "$1" >"$GROUP/$file" && echo "$SERVER" >"$GROUP/cgroup.procs"
}

say "no more than there is memory"
mount_volume volume mnt
if [ -n "${DATASETFS_SANITIZER:-}" ]; then
    say "a sanitizer takes more than that itself: left out"
elif memory_group $((17 << 20)); then
    read_in walk 1 small
    assert_eq "ahead_files without memory" "$(stats mnt ahead_files)" 0
    unmount mnt
    mount_volume volume mnt
    memory_group $((64 << 20)) || fail "the limit cannot be raised"
    read_in walk 1
    [ "$(stats mnt ahead_files)" -gt 0 ] || fail "nothing was read ahead within 64 MiB"
else
    say "no control group of memory: left out"
fi
unmount mnt

say "damage is found by the READ of its file"
cp volume damaged
datasetfsctl stat --json damaged small/d3/f030 | python3 "$LIB/chunks.py" >chunks
read -r _ _ _ offset stored <chunks
spoil damaged $((offset + stored / 2))
: >daemon.log
# As above, the reader may be the one that comes first.
for _ in {1..10}; do
    mount_volume damaged mnt
    BAD=d3/f030 read_in walk 1 small
    met=$(stats mnt ahead_failures)
    [ "$met" = 0 ] || break
    unmount mnt
done
[ "$met" -gt 0 ] || fail "the damage was not read ahead"
[ "$(stats mnt read_failures)" -gt 0 ] || fail "the READ did not find the damage"
grep -q "read of '/small/d3/f030' failed" daemon.log || fail "nothing in the log"
unmount mnt

say "a switch under a walker"
cp -r source second
python3 - <<'END'
import os, random
r = random.Random(8)
for i in range(0, 960, 2):
    open(f"second/small/d{i // 120}/f{i % 120:03}", "wb").write(r.randbytes(7000))
END
pack volume second --label v2
mount_volume volume mnt -o version=v1
top=$PWD
for _ in {1..5}; do
    cd mnt/small
    python3 "$AHEAD" walk "$top/source/small" . 1 & walker=$!
    cd "$top"
    datasetfsctl switch mnt v2 >/dev/null
    python3 "$AHEAD" walk second mnt 1 || fail "after the switch"
    datasetfsctl switch mnt v1 >/dev/null
    wait $walker || fail "who is in a folder of the old version"
done
unmount mnt

say "an unmount, another server, and the end of the daemon, under a walker"
mount_volume volume mnt -o version=v1
is_ahead() {
    [ "$(stats mnt ahead_files)" -gt 0 ]
}
cd mnt/small
python3 "$AHEAD" walk "$top/source/small" . 1 & walker=$!
cd "$top"
wait_for 20 is_ahead || fail "nothing is read ahead"
umount -l mnt
wait $walker || fail "the walker of a detached mount"
wait_end "$DAEMON" || fail "the daemon runs on"
wait "$DAEMON" || fail "the daemon ended with status $?"
mount_volume volume mnt -o version=v1
survives=$(stats mnt survives)
if [ "$survives" = requests ]; then
    python3 "$AHEAD" walk source/small mnt/small 3 & walker=$!
    wait_for 20 is_ahead || fail "nothing is read ahead"
    kill_server mnt
    wait $walker || fail "the walker of a server that was killed"
    unmount mnt
    mount_volume volume mnt -o version=v1
fi
# Once all of it is in the page cache, the walker needs no daemon.
touch walking
while [ -e walking ] && cat mnt/small/*/* >/dev/null 2>&1; do :; done & walker=$!
wait_for 20 is_ahead || fail "nothing is read ahead"
if [ "$survives" = nothing ]; then # its supervisor ends the connection
    kill -KILL "$SERVER"
    wait_end "$DAEMON" || fail "the supervisor of a killed server stays"
    wait_end "$SERVER" || fail "the killed server stays"
else
    kill_daemon || fail "the killed daemon stays"
fi
rm walking
wait_end $walker || fail "the walker of a killed daemon hangs"
umount -l mnt

need_loop
need_throttle
say "a device that keeps what is read ahead"
loop_device volume --direct-io=on
mount_volume "$LOOP" mnt -o version=v1
throttle "$SERVER"
# The fourth READ begins to read ahead; it is small enough to come back itself.
python3 - mnt/small/d0 "/sys/fs/cgroup/blkio/datasetfs-test-$$" "$(lsblk -ndo MAJ:MIN "$LOOP" | tr -d ' ')" <<'END'
import os, sys
folder, group, device = sys.argv[1:]
for i, name in enumerate(sorted(os.listdir(folder))[:4]):
    if i == 3:
        with open(f"{group}/blkio.throttle.read_bps_device", "w") as file:
            file.write(f"{device} 20000")
    fd = os.open(f"{folder}/{name}", os.O_RDONLY)
    os.read(fd, 1 << 20)
END
unmount mnt
throttle_reads 0
