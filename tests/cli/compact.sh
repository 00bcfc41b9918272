#!/bin/bash
# SPDX-License-Identifier: MIT
# datasetfsctl compact: what is alive moves once, versions keep label, UUID and digest, files stay one read, and what
# became free is used again; without room or with nothing to gain the volume stays as it is.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/clock.sh"

# listed PATH: of the volume
listed() {
    datasetfsctl list --json volume | json "$1"
}

# identities: label, UUID and digest of every version
identities() {
    datasetfsctl list --json volume | python3 -c '
import json, sys
for v in sorted(json.load(sys.stdin)["versions"], key=lambda v: v["label"]): print(v["label"], v["uuid"], v["digest"])'
}

# reads LABEL FILE: device ranges of a file
reads() {
    datasetfsctl stat --json --version "$1" volume "$2" |
        python3 -c 'import json, sys; print(len(json.load(sys.stdin)["ranges"]))'
}

# Files of which most are replaced, so that the first version's segments hold a little of what the second uses; three
# versions share it. Compressed ones lie densely.
seed=${SEED:-$RANDOM}
say "seed $seed"
write() {
    python3 "$LIB/replaced_files.py" source/many 700 "$seed" "$@"
}
write 1 1
head -c 5M /dev/urandom >source/large
pack volume source --label one --segment-size 1M --trust-mtime
write 2 0.8
dd if=/dev/urandom of=source/large bs=128K count=1 seek=11 conv=notrunc status=none
pack volume source --label two --trust-mtime
pack volume source --label two-z --compress zstd --no-current
write 3 0.3
later pack volume source --label three --compress zstd --trust-mtime
pack volume source --label four --no-current
datasetfsctl remove volume one 2>/dev/null >&2
identities >identities.before
datasetfsctl verify volume >/dev/null || fail "verify before"
dump=$(datasetfsctl dump volume two | sha256sum)
sequence=$(listed next_sequence)

assert_fails 2 "expected VOLUME" datasetfsctl compact
assert_fails 2 "below" datasetfsctl compact --below 101 volume

# A rehearsal writes nothing.
before=$(hash_of volume)
datasetfsctl compact --dry-run --json volume >dry.json || fail "dry run"
assert_eq "the volume after a dry run" "$(hash_of volume)" "$before"
[ "$(json segments dry.json)" -gt 3 ] || fail "only $(json segments dry.json) segments are worth emptying"
datasetfsctl compact --dry-run volume >dry.txt || fail "dry run"
assert_contains "dry run" "$(cat dry.txt)" "segments would be emptied"

free=$(listed free_bytes)
datasetfsctl compact --json volume >compact.json 2>compact.err || fail "compact: $(cat compact.err)"
assert_contains "the warning" "$(cat compact.err)" "mounts on other hosts cannot be seen from here"
assert_eq "emptied" "$(json segments compact.json)" "$(json segments dry.json)"
python3 - <<'END' || fail "what compact says"
import json, sys
dry, done = json.load(open("dry.json")), json.load(open("compact.json"))
live = done["segments"] * (1 << 20) - dry["freed_bytes"]
# A block that two pieces share goes with either, and what begins or ends in a neighbouring segment goes along.
if any(dry[key] != done[key] for key in ("dead_bytes", "index_bytes")) or dry["freed_bytes"] != dry["dead_bytes"]:
    sys.exit(f"{done}, announced {dry}")
if not 0 < done["moved_bytes"] <= live + done["segments"] * (1 << 20) // 4 or done["moved_bytes"] != dry["moved_bytes"]:
    sys.exit(f"{done['moved_bytes']} bytes moved, {live} are alive in {done['segments']} segments: {dry}")
if {v["label"]: (v["former_sequence"], v["sequence"]) for v in dry["versions"]} != \
        {v["label"]: (v["former_sequence"], v["sequence"]) for v in done["versions"]}:
    sys.exit(f"sequences {done['versions']}, announced {dry['versions']}")
END
identities | diff identities.before - || fail "identities changed"
assert_eq "dump of two" "$(datasetfsctl dump volume two | sha256sum)" "$dump"
datasetfsctl verify volume >verify.out || fail "verify: $(cat verify.out)"
assert_eq "current" "$(listed current)" three
python3 - "$sequence" <(datasetfsctl list --json volume) <<'END' || fail "sequences"
import json, sys
listed, done = json.load(open(sys.argv[2])), json.load(open("compact.json"))
now = {v["label"]: v["sequence"] for v in listed["versions"]}
moved = [v for v in done["versions"] if v["sequence"] != v["former_sequence"]]
if not moved or any(now[v["label"]] != v["sequence"] or v["sequence"] < int(sys.argv[1]) for v in moved):
    sys.exit(f"{now}: {done['versions']}")
if listed["next_sequence"] != int(sys.argv[1]) + len(moved):
    sys.exit(f"next {listed['next_sequence']}")
END
assert_eq "bytes that became free" "$(json freed_bytes compact.json)" "$(($(listed free_bytes) - free))"
for file in many/f1 many/f77 many/f300 many/f699; do
    for version in two two-z three four; do
        [ "$(reads $version $file)" -le 1 ] || fail "$file of $version takes $(reads $version $file) reads"
    done
done

# It comes to an end (what was the tail may be worth it the next time), and nothing is written then.
for round in 1 2 3 4; do
    before=$(hash_of volume)
    datasetfsctl compact volume >out 2>/dev/null || fail "again, round $round"
    ! grep -q "no segment is worth emptying" out || break
done
assert_contains "round $round" "$(cat out)" "no segment is worth emptying"
assert_eq "the volume after nothing" "$(hash_of volume)" "$before"
identities | diff identities.before - || fail "identities changed, round $round"

# A file whose end lies alone in its last block is one read also where a copy was cut at that block.
mkdir tails
for i in {10..59}; do head -c 131172 /dev/urandom >tails/$i; done
pack cut tails --label one --segment-size 1M
rm tails/*[3-9]
pack cut tails --label two
datasetfsctl remove cut one >/dev/null 2>&1
datasetfsctl compact --json --below 100 cut >cut.json 2>/dev/null || fail "compact of the tails"
[ "$(json segments cut.json)" -gt 3 ] || fail "only $(json segments cut.json) segments with tails were emptied"
for file in tails/*; do
    ranges=$(datasetfsctl stat --json cut "${file#*/}" |
        python3 -c 'import json, sys; print(len(json.load(sys.stdin)["ranges"]))')
    assert_eq "ranges of $file" "$ranges" 1
done
datasetfsctl verify cut >/dev/null || fail "verify of the tails"

# A publish shares with versions that were moved, knows their source, and takes what became free.
size=$(stat -c %s volume)
mkdatasetfs --json --progress none --trust-mtime=three --label five volume source >five.json ||
    fail "publish afterwards"
assert_eq "files opened" "$(json read_bytes five.json)" 0
head -c 3M /dev/urandom >source/new
pack volume source --label six
[ "$(($(stat -c %s volume) - size))" -lt $((2 << 20)) ] || fail "the volume grew from $size to $(stat -c %s volume)"

# Free space of a file goes back to the file system when asked for.
taken() {
    echo $(($(stat -c '%b * %B' volume)))
}
before=$(taken)
datasetfsctl compact --json --give-back volume >given.json 2>/dev/null || fail "compact --give-back"
if [ "$(json given_back_bytes given.json)" -gt 0 ] && [ "$(taken)" -ge "$before" ]; then
    fail "the file takes $(taken) bytes, before $before"
fi
datasetfsctl verify volume >verify.out || fail "verify after --give-back: $(cat verify.out)"

# Damaged content stays damaged, and is reported as before; a volume with a damaged index is not touched.
for version in five six; do datasetfsctl current volume $version >/dev/null; done
for version in two two-z three four five; do datasetfsctl remove volume $version >/dev/null 2>&1; done
rm -rf other
mkdir other
echo other >other/file
pack volume other --label other
file=$(cd source && find many -type f -size +20k | LC_ALL=C sort | sed -n 1p)
victim=$(datasetfsctl stat --json --version six volume "$file" | python3 "$LIB/chunks.py" | awk 'NR == 1 { print $4 }')
[ -n "$victim" ] || fail "$file has no chunk on the volume"
spoil volume $((victim + 40))
datasetfsctl verify volume >verify.before && fail "the damage is not seen"
datasetfsctl compact --below 100 volume >out 2>/dev/null || fail "compact of a damaged volume"
assert_contains "it moved something" "$(cat out)" "segments emptied"
datasetfsctl verify volume >verify.after && fail "the damage is gone"
assert_eq "damaged files" "$(grep -o "'many/f[0-9]*'" verify.after | sort)" \
    "$(grep -o "'many/f[0-9]*'" verify.before | sort)"
at=$(listed versions.0.index.0.offset)
cp volume damaged
spoil damaged $((at + 5000))
before=$(hash_of damaged)
assert_fails 1 "SHA-256" datasetfsctl compact --below 100 damaged
assert_eq "the volume with a damaged index" "$(hash_of damaged)" "$before"

# On a filesystem that is nearly full nothing is begun that it has no room for, and nothing that was written stays.
need_mount
cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/fault.c" -o fault.so || fail "fault.c does not compile"
# left: bytes that the filesystem has
left() {
    df --output=avail -B1 small | tail -n 1
}
# leave BYTES: no more than that
leave() {
    rm -f small/filler
    head -c $(($(left) - $1)) /dev/zero >small/filler
}
# blocks: bytes that the file takes
blocks() {
    echo $(($(stat -c '%b * %B' small/volume)))
}
# counted KIND: number of those calls of a compaction; it may fail
counted() {
    env FAULT_KIND="$1" FAULT_AT=0 FAULT_VOLUME="$PWD/small/volume" FAULT_COUNT="$PWD/count" \
        LD_PRELOAD="$PWD/fault.so" datasetfsctl compact --json --below 100 small/volume >out 2>err || true
    cat count
}
mkdir small
mount -t tmpfs -o size=80M none small
at_exit umount small
rm -rf source
seed=6703 # with little room it is the catalogue for which there is none
write 1 1
pack small/volume source --label one --segment-size 1M
write 2 0.6
pack small/volume source --label two
datasetfsctl remove small/volume one >/dev/null 2>&1
cp small/volume base
datasetfsctl compact --below 1 --give-back small/volume >/dev/null || fail "compact --give-back"
leave 49152
before=$(hash_of small/volume)
if [ "$DATASETFS_BUILD_NAME" = gcc ]; then
    assert_eq "writes without room" "$(counted write)" 0
    assert_contains "the reason" "$(cat err)" "the filesystem '$PWD/small' is full: emptying a segment takes"
fi
assert_fails 1 "the filesystem '$PWD/small' is full: emptying" datasetfsctl compact --below 100 small/volume
assert_eq "the volume without room" "$(hash_of small/volume)" "$before"
leave $((3 << 20))
taken=$(blocks)
datasetfsctl compact --json --below 100 small/volume >out 2>err || fail "compact with little room: $(cat err)"
[ "$(json segments out)" -gt 0 ] || fail "nothing was done with little room"
written=$(($(json moved_bytes out) + $(json index_bytes out) + 65536))
[ $(($(blocks) - taken)) -le $written ] ||
    fail "the file takes $(($(blocks) - taken)) bytes more, written were $written"
datasetfsctl verify small/volume >/dev/null || fail "verify after little room"

# compact cuts off what it added to the file before it tries again with less to move.
if [ "$DATASETFS_BUILD_NAME" = gcc ]; then
    rm small/filler
    cp base small/volume
    leave $((16 << 20))
    calls=$(counted write)
    for at in $((calls * 3 / 4)) $((calls - 2)); do # the last three are catalogue, superblock slot and publisher record
        cp base small/volume
        env FAULT_KIND=write FAULT_AT=$at FAULT_VOLUME="$PWD/small/volume" LD_PRELOAD="$PWD/fault.so" \
            datasetfsctl compact --json --below 100 small/volume >out 2>err ||
            fail "write $at of $calls, a second try: $(cat err)"
        grown=$(($(stat -c %s small/volume) - $(stat -c %s base)))
        written=$(($(json moved_bytes out) + $(json index_bytes out) + 65536))
        [ $grown -le $written ] || fail "the file grew by $grown bytes, written were $written"
        datasetfsctl verify small/volume >/dev/null || fail "verify after a second try"
    done
fi
umount small

# Without room: one line, and everything is as it was.
need_loop
truncate -s 32M disk
loop_device disk
rm -rf source
write 1 1
find source -name 'f[3-6]*' -delete
pack "$LOOP" source --label one --segment-size 1M

# The free bytes are those that a publish can use: not the ring, not the end, and not the space that the device gained.
datasetfsctl list --json "$LOOP" >listed.json
python3 - <<'END' || fail "free bytes of a device"
import json, sys
listed = json.load(open("listed.json"))
free = sum(run["length"] for run in listed["space"] if not run["versions"] and not run["catalogue"])
segment = listed["segment_size"]
ring = segment # the first one
reserve = -(-listed["size"] // 64 // segment) * segment # whole segments
expected = free - ring + -listed["tail"] % segment - reserve
if listed["free_bytes"] != expected:
    sys.exit(f"{listed['free_bytes']} bytes are free, expected {expected}")
END
free=$(json free_bytes listed.json)
truncate -s 48M disk
losetup -c "$LOOP"
assert_eq "size of a device that grew" "$(datasetfsctl list --json "$LOOP" | json size)" $((48 << 20))
assert_eq "segments after the device grew" "$(datasetfsctl list --json "$LOOP" | json segments)" 32
assert_eq "free after the device grew" "$(datasetfsctl list --json "$LOOP" | json free_bytes)" "$free"

for ((n = 2; n < 60; n++)); do
    write $n 0.15
    mkdatasetfs --progress none --label "more$n" "$LOOP" source >/dev/null 2>err || break
done
[ $n -lt 60 ] || fail "the device does not get full"
assert_contains "full" "$(cat err)" "is full"
for ((i = 2; i < n - 1; i++)); do
    datasetfsctl remove "$LOOP" "more$i" >/dev/null 2>&1 || fail "remove more$i"
done
free=$(datasetfsctl list --json "$LOOP" | json free_bytes)
# says FILE: what was done, or would be
says() {
    for key in segments dead_bytes moved_bytes index_bytes; do json $key "$1"; done
}
for ((i = 0; i < 12; i++)); do
    dump=$(datasetfsctl dump "$LOOP" | sha256sum)
    datasetfsctl compact --below 100 --dry-run --json "$LOOP" >dry.json 2>dry.err || true
    datasetfsctl compact --below 100 --json "$LOOP" >out 2>err || break
    assert_eq "what the rehearsal of round $i said" "$(says dry.json)" "$(says out)"
    assert_eq "dump after round $i" "$(datasetfsctl dump "$LOOP" | sha256sum)" "$dump"
    datasetfsctl verify "$LOOP" >/dev/null || fail "verify after round $i"
    [ "$(json segments out)" != 0 ] || break
done
say "a small device: $i rounds, then: $(cat out err)"
if [ -s err ]; then
    assert_contains "the reason" "$(cat err)" "volume is full"
    assert_eq "the reason in the rehearsal" "$(cat dry.err)" "$(cat err)"
else
    assert_eq "segments in the end" "$(json segments out)" 0
fi
[ "$(datasetfsctl list --json "$LOOP" | json free_bytes)" -ge "$free" ] ||
    fail "less is free than the $free bytes of before"
datasetfsctl verify "$LOOP" >/dev/null || fail "verify in the end"
