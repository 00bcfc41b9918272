#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan timeout=300
# scrub: finds a wrong byte wherever it lies on a member, makes it right again from another one, and leaves alone what
# is right nowhere; shards and interrupted runs cover everything once; what cannot be repaired is said.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir tree
for i in {1..120}; do head -c $((i * 311)) /dev/urandom >"tree/small $i"; done
for i in 1 2 3; do head -c 5000 /dev/urandom >"tree/first $i"; done # so that chunks lie across windows
head -c 9000000 /dev/urandom >tree/large
for i in {1..900}; do echo "$i" >"tree/tiny $i"; done # an index of more blocks than are tried in all combinations
for i in {1..5000}; do echo "line $i of a text that can be compressed"; done >tree/text
rows() {
    python3 "$LIB/member_rows.py" "$@"
}

# scrub STATUS OPTION… VOLUME: into out
scrub() {
    local expected=$1 rc=0
    shift
    datasetfsctl scrub "$@" >out 2>err || rc=$?
    assert_eq "status of 'scrub $*': $(cat out err)" $rc "$expected"
}

# again: vol has what kept has
again() {
    rm -rf vol
    cp -r kept vol
}

mkdir vol
pack vol/a,vol/b,vol/c tree --protect mirror:2 --compress zstd # columns are longer than a window of 2 MiB
echo more >tree/more
pack vol/a tree --label v2
cp -r vol kept

say "nothing is wrong"
scrub 0 vol/a
assert_contains "the line" "$(cat out)" "clean: "
diff -r vol kept >diff.log || fail "scrub writes: $(cat diff.log)"
flock -x vol/b datasetfsctl scrub vol/a >out || fail "a lock stops it: $(cat out)"
exits 2 flock -x vol/b datasetfsctl scrub --repair vol/a >out 2>err
assert_contains "the line" "$(cat err)" "cannot scrub 'vol/a': volume 'vol/a': "
scrub 0 --repair vol/a
rows same vol kept || fail "nothing was to be repaired"

say "flips on one member, everywhere"
kinds=
for member in 0 1 2; do
    again
    rows sweep $((member + 1)) $member vol/? >flips
    scrub 1 --json vol/a
    rows places <out >places
    python3 - <<'END' || fail "member $member: not every flip is in a place, or a place has none"
places = [line.split() for line in open("places")]
found = {(int(m), range(int(at), int(at) + int(length))): 0 for m, at, length, *_ in places}
assert len(found) == len(places), "a place is there twice"
for line in open("flips"):
    member, at = map(int, line.split())
    hits = [key for key in found if key[0] == member and at in key[1]]
    assert len(hits) == 1, (line, hits)
    found[hits[0]] += 1
assert all(found.values()), [key for key, count in found.items() if not count]
END
    assert_eq "states" "$(cut -d ' ' -f 5 places | sort -u)" damaged
    kinds+=$(cut -d ' ' -f 4 places | sort -u)$'\n'
    scrub 0 --repair vol/a
    assert_contains "the line" "$(tail -n 1 out)" "damaged=0 repaired=$(wc -l <places) failed=0 lost=0 unknown=0"
    rows same vol kept || fail "after the repair"
    scrub 0 vol/b
    assert_contains "the line" "$(cat out)" "clean: "
done
assert_eq "kinds of places" "$(sort -u <<<"$kinds" | xargs)" \
    "chunk head_of_block_checksums index_section page_of_block_checksums source_section unused_bytes"

say "shards"
again
rows flip 11 300 1 vol/? >flips
scrub 1 --json vol/a
rows places <out | sort >places
for count in 2 5 20; do
    : >sharded
    for ((n = 1; n <= count; n++)); do
        datasetfsctl scrub --json --shard $n/$count vol/a >out || true
        rows places <out >>sharded
    done
    sort sharded | cmp - places || fail "$count shards have something else"
done
for n in 1 2 3; do datasetfsctl scrub --repair --shard $n/3 vol/c >out || fail "shard $n: $(cat out)"; done
rows same vol kept || fail "after the repair in shards"

say "a list of places"
again
rows flip 12 40 2 vol/? >flips
scrub 1 --json vol/a
rows places <out | grep chunk | head -n 1 | tr ' ' '\t' >damage
echo "# and more" >>damage
sed -i 's/$/\r/' damage
scrub 0 --repair --from damage vol/a
read -r _ offset _ <damage
assert_contains "what was repaired" "$(cat out)" "member=2 offset=$offset "
[ "$(grep -c '^repaired ' out)" -lt "$(grep -c . flips)" ] || fail "more than the list was repaired"
scrub 1 vol/a
echo "2 5" >damage
scrub 2 --from damage vol/a
assert_contains "the line" "$(cat err)" "a line '2 5', expected member, offset and length"

say "superblocks, records, catalogues"
again
slot=$(python3 - vol/b <<'END'
import struct, sys
raw = open(sys.argv[1], "rb").read(1 << 20)
slots = [struct.unpack_from("<Q", raw, (n << 16) + 0x30)[0] for n in range(8)]
print(slots.index(max(slots)))
END
)
spoil vol/b $((slot << 16))
spoil vol/c $(((slot - 1 << 16) + 100))
spoil vol/c $((512 << 10))
catalogue_c=$(python3 - vol/c "$slot" <<'END'
import struct, sys
raw = open(sys.argv[1], "rb").read(1 << 20)
print(struct.unpack_from("<Q", raw, (int(sys.argv[2]) << 16) + 0x48)[0] & (1 << 56) - 1)
END
)
spoil vol/c $((catalogue_c + 200))
scrub 1 vol/a
for what in "superblock slot $slot of member 1" "superblock slot $((slot - 1)) of member 2" \
    "publisher record of member 2" "catalogue of member 2"; do
    grep -q "^damaged $what: " out || fail "no '$what': $(cat out)"
done
assert_eq "damaged structures" "$(grep -c '^damaged ' out)" 4
scrub 0 --repair vol/a
assert_eq "repaired structures" "$(grep -c '^repaired ' out)" 4
scrub 0 vol/a
assert_contains "the line" "$(cat out)" "clean: "
datasetfsctl verify vol/a >out || fail "verify: $(cat out)"
rows same vol kept || fail "after the repair"

say "the newest superblocks of a member"
again
for label in v3 v4; do pack vol/a tree --label $label; done
newest=$(datasetfsctl list --json vol/a | json superblock_sequence)
for lost in 2 3; do
    for ((i = 0; i < lost; i++)); do spoil vol/b $(((newest - i) % 8 << 16)); done
    datasetfsctl member list vol/a >out || fail "member list"
    assert_eq "members in use with $lost lost slots" "$(grep -c "^ *[0-2]  ok " out)" 3
    scrub 1 vol/a
    scrub 0 --repair vol/a
    assert_eq "repaired slots" "$(grep -c "^repaired superblock slot .* of member 1: " out)" $lost
    scrub 0 vol/a
    assert_contains "the line" "$(cat out)" "clean: "
    assert_eq "its superblock" "$(datasetfsctl list --json vol/b | json superblock_sequence)" "$newest"
    datasetfsctl verify vol/b >out || fail "verify: $(cat out)"
done
# Without any slot nothing says that it is the member; an old copy, whose slots are all valid, is none either.
for slot in {0..7}; do spoil vol/b $((slot << 16)); done
datasetfsctl member list vol/a,vol/c >out || fail "member list"
assert_contains "why it is missing" "$(cat out)" "missing: not found, nothing here has its superblock"
assert_fails 1 "not a datasetfs volume" datasetfsctl member list vol/a,vol/b,vol/c
cp kept/b vol/b
datasetfsctl member list vol/a >out || fail "member list"
assert_contains "why an old copy is missing" "$(cat out)" "vol/b': stale since superblock "

say "no copy is right"
again
datasetfsctl stat --json vol/a "small 77" | python3 "$LIB/chunks.py" >chunks
read -r _ _ member offset _ <chunks
python3 "$LIB/member_rows.py" copies "$member" "$offset" vol/? >both
while read -r file at; do spoil "$file" $((at + 9)); done <both
cp -r vol spoiled
for option in "" --repair; do
    scrub 1 $option vol/b
    assert_contains "the file" "$(cat out)" \
        "lost 'small 77': no copy is right chunk=0 member=$member offset=$offset version=v1"
    assert_contains "the file" "$(cat out)" "version=v2"
    assert_contains "the line" "$(tail -n 1 out)" "damaged=0 repaired=0 failed=0 lost=1 unknown=0"
done
scrub 1 --repair --json vol/b
assert_eq "path" "$(json files.0.path out)" "small 77"
assert_eq "state" "$(json state out)" damaged
rows same vol spoiled || fail "what is right nowhere was written"
rm -rf spoiled

say "copies that are wrong in different blocks"
again
datasetfsctl stat --json vol/a large | python3 "$LIB/chunks.py" | sed -n 4p >chunk
read -r _ _ member offset _ <chunk
python3 "$LIB/member_rows.py" copies "$member" "$offset" vol/? >both
column=0
while read -r file at; do spoil "$file" $((at + 5000 + column++ * 50000)); done <both
scrub 1 vol/a
assert_eq "damaged places" "$(grep -c '^damaged chunk: ' out)" 2
scrub 0 --repair vol/a
rows same vol kept || fail "after the repair"

say "an index that is damaged on both members, at different places"
again
python3 "$LIB/member_rows.py" rows vol/? >columns
python3 - <<'END' >both
import json, subprocess
columns = [list(map(int, line.split())) for line in open("columns")]
kept = {n: open(f"kept/{'abc'[n]}", "rb").read() for n in range(3)}
# the pages of the names begin with the magic of LMDB
for number, column, member, at, tail in columns:
    found = kept[member].find(b"\xde\xc0\xef\xbe", at, at + tail)
    if column == 0 and found >= 0:
        twin = next(c for c in columns if c[0] == number and c[1] == 1)
        print("abc"[member], found + 9000)
        print("abc"[twin[2]], twin[3] + found - at + 5000)
        break
END
while read -r name at; do spoil "vol/$name" "$at"; done <both
scrub 1 vol/a
assert_eq "damaged places" "$(grep -c '^damaged index section: ' out)" 2
scrub 0 --repair vol/a
rows same vol kept || fail "after the repair"

say "interrupted"
again
rows flip 13 200 0 vol/? >flips
scrub 1 --json vol/a
rows places <out | sort >places
cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/fault.c" -o fault.so || fail "fault.c does not compile"
if [ "$DATASETFS_BUILD_NAME" = gcc ]; then
    watched=(env --default-signal=INT FAULT_KIND=read "FAULT_VOLUME=$PWD/vol/a,$PWD/vol/b,$PWD/vol/c"
        "FAULT_COUNT=$PWD/count" "LD_PRELOAD=$PWD/fault.so")
    "${watched[@]}" FAULT_AT=0 datasetfsctl scrub -j1 vol/a >out || true
    total=$(cat count) stopped=0
    for ((n = total - 80; n <= total; n += 8)); do # the rows are read last, but for a look at the superblocks
        "${watched[@]}" FAULT_STOP=1 FAULT_AT=$n datasetfsctl scrub -j1 --json vol/a >out 2>err &
        wait_for 20 is_stopped $! || fail "it does not stop at read $n"
        kill -INT $!
        kill -CONT $!
        rc=0
        wait $! || rc=$?
        [ "$(json interrupted out)" = true ] || continue
        [ $rc = 1 ] || [ $rc = 2 ] || fail "status when interrupted: $rc"
        grep -q '"next"' out || continue
        rows places <out >first
        next=$(json next out)
        datasetfsctl scrub --json --start "$next" vol/a >out || true
        rows places <out | sort - first | cmp - places || fail "the rest, from read $n on, is not what was missing"
        [ ! -s first ] || stopped=$((stopped + 1))
    done
    [ $stopped -gt 0 ] || fail "no run was interrupted among the rows"
fi

say "out of memory for a window: the rest begins with it"
if [ "$DATASETFS_BUILD_NAME" = gcc ]; then
    short=(env FAULT_KIND=alloc FAULT_TIMES=1000000 "FAULT_COUNT=$PWD/count" "LD_PRELOAD=$PWD/fault.so")
    "${short[@]}" FAULT_AT=0 datasetfsctl scrub -j1 --json vol/a >out || true
    for ((n = $(cat count); n > 0; n--)); do # only few of all allocations are for what a window has
        rc=0
        "${short[@]}" FAULT_AT=$n datasetfsctl scrub -j1 --json vol/a >out 2>err || rc=$?
        ! { grep -q "out of memory" err && grep -q '"next"' out; } || break
    done
    [ $n -gt 0 ] || fail "no run failed in a window"
    assert_eq "status" $rc 2
    rows places <out >first
    datasetfsctl scrub --json --start "$(json next out)" vol/a >out || true
    rows places <out | sort - first | cmp - places || fail "allocation $n: the rest is not what was missing"
fi

say "blocks that cannot be read"
if [ "$DATASETFS_BUILD_NAME" = gcc ]; then
    again
    read -r _ _ member offset _ < <(datasetfsctl stat --json vol/a "small 120" | python3 "$LIB/chunks.py")
    name=abc
    broken=(env FAULT_KIND=read FAULT_AT=1 FAULT_TIMES=1000000 "FAULT_VOLUME=$PWD/vol/${name:member:1}"
        FAULT_FROM=$((offset + 5000)) FAULT_TO=$((offset + 5001)) "LD_PRELOAD=$PWD/fault.so")
    exits 1 "${broken[@]}" datasetfsctl scrub vol/a >out
    assert_contains "the place" "$(grep ^damaged. out)" "damaged chunk: it cannot be read, right on member"
    assert_eq "places" "$(grep -c '^damaged ' out)" 1
    spoil vol/${name:member:1} $((offset + 6000))
    exits 1 "${broken[@]}" datasetfsctl scrub --repair vol/a >out
    assert_contains "the place" "$(cat out)" \
        "failed chunk: it cannot be read, and its repair failed: Input/output error, right on member"
    rows same vol kept || fail "it was not written all the same"
fi

say "bytes that a lost index may use"
again
python3 - <<'END' >both
columns = [list(map(int, line.split())) for line in open("columns")]
kept = {n: open(f"kept/{'abc'[n]}", "rb").read() for n in range(3)}
for number, column, member, at, tail in columns:
    found = kept[member].find(b"\xde\xc0\xef\xbe", at, at + tail)
    if column == 0 and found >= 0:
        twin = next(c for c in columns if c[0] == number and c[1] == 1)
        print("abc"[member], found + 9000)
        print("abc"[twin[2]], twin[3] + found - at + 9000)
END
while read -r name at; do spoil "vol/$name" "$at"; done <both
rows flip 17 400 1 vol/? >flips
cp -r vol spoiled
scrub 1 --repair vol/a
assert_contains "the index" "$(cat out)" \
    "lost version: index of version 'v1': its SHA-256 is not the one in the catalogue"
grep -q "^unknown unused bytes: copies differ, and a version that may use these bytes cannot be read" out ||
    fail "nothing is unknown: $(cat out)"
! grep -q "^repaired unused" out || fail "bytes were made equal that may be used: $(grep '^repaired unused' out)"
while read -r name at; do
    cmp -s -i "$at" -n 1 "vol/$name" "spoiled/$name" || fail "the lost index was written"
done <both
rm -rf spoiled

say "three copies"
rm -rf vol && mkdir vol
pack vol/a,vol/b,vol/c tree --protect mirror:3 --segment-size 1M
rm -rf kept && cp -r vol kept
rows flip 21 200 0 vol/? >flips
rows flip 22 30 2 vol/? >>flips
scrub 0 --repair vol/a
rows same vol kept || fail "after the repair of three copies"

say "blocks that two threads repair"
rm -rf vol && mkdir vol packed
python3 -c '
import os
for i in range(1200):
    open(f"packed/{i}", "wb").write(os.urandom(20001 + i))'
pack vol/a,vol/b packed --protect mirror:2 --segment-size 16M
rm -rf kept && cp -r vol kept
for try in 1 2 3; do
    again
    rows sweep "$try" 1 vol/? >flips
    scrub 0 --repair --jobs 8 vol/a
    rows same vol kept || fail "after the repair by eight threads"
done
rm -rf vol kept && mkdir vol
pack vol/a,vol/b,vol/c tree --protect mirror:3 --segment-size 1M
rm -rf kept && cp -r vol kept

say "bytes that no version uses any more"
head -c 300000 /dev/urandom >tree/large
pack vol/a tree --label v2
datasetfsctl remove vol/a v1 2>/dev/null >&2 || fail "remove"
rows flip 31 300 1 vol/? >flips
scrub 0 --repair vol/a
assert_contains "unused bytes" "$(cat out)" "repaired unused bytes: copies differ (two are equal), taken from member"
scrub 0 vol/a

say "what cannot be repaired"
rm -rf vol && mkdir vol
pack vol/a,vol/b tree --segment-size 1M
scrub 0 vol/a
assert_contains "what could be lost" "$(cat out)" "have no second copy: damage there could not be repaired"
rows flip 41 3 1 vol/? >flips
scrub 1 --repair vol/a
assert_contains "the line" "$(cat out)" \
    "no sound copy to repair from. Publish the source again: the new version gets a sound copy"
grep -q "lost=[1-3] " out || fail "it is not told: $(cat out)"
pack one tree
scrub 0 --repair one
! grep copy out || fail "it says what nobody needs to know of a sound volume: $(cat out)"
read -r _ _ _ offset _ < <(datasetfsctl stat --json one "small 77" | python3 "$LIB/chunks.py")
spoil one "$offset"
scrub 1 --repair one
assert_contains "one member" "$(cat out)" \
    "no second copy to repair from. Publish the source again: the new version gets a sound copy"
assert_contains "one member" "$(cat out)" "lost 'small 77': no copy is right chunk=0 member=0 offset=$offset version=v1"

say "a missing member"
again
rm vol/b
scrub 2 vol/a
assert_contains "the member" "$(cat out)" "unknown member 1: it is missing"
scrub 2 --repair vol/a
assert_contains "the member" "$(cat out)" "unknown member 1: it is missing, its contents are skipped"

say "a missing member, and what the others repair from each other"
rm -rf three && mkdir three
pack three/a,three/b,three/c tree --protect mirror:2 --segment-size 1M
cp -r three three.kept
# first MEMBER: the offset of a file's bytes that lie there first, and the file
first() {
    local name member offset
    for name in tree/*; do
        [ -s "$name" ] && [ -f "$name" ] || continue
        read -r _ _ member offset _ < <(datasetfsctl stat --json three/a "${name#tree/}" | python3 "$LIB/chunks.py")
        [ "$member" != "$1" ] || { echo "$offset ${name#tree/}" && return; }
    done
    fail "no file lies on member $1"
}
read -r offset _ < <(first 0) # its copy lies on b
read -r other _ < <(first 1)  # and of this one on c
spoil three/a "$offset"
spoil three/b "$other"
mv three/c away
scrub 2 --repair three/a
grep -q "^repaired chunk: .* taken from member 1 member=0 offset=$offset " out || fail "$(cat out)"
assert_contains "what was skipped" "$(cat out)" "unknown member 2: it is missing, its contents are skipped"
grep -q "^unknown chunk: .*, a member that is missing may have it right member=1 offset=$other " out ||
    fail "$(cat out)"
cmp three/a three.kept/a || fail "what b has was not taken from it"
mv away three/c
scrub 0 --repair three/a
grep -q "^repaired chunk: .* taken from member 2 member=1 offset=$other " out || fail "$(cat out)"
scrub 0 three/a
cmp three/b three.kept/b || fail "what c has was not taken from it"

say "wrong options"
assert_fails 2 "'4/3', expected N/T with 1 <= N <= T" datasetfsctl scrub --shard 4/3 kept/a
assert_fails 2 "expected MEMBER:OFFSET" datasetfsctl scrub --start 17 kept/a
assert_fails 2 "--start 0:5 is in no row of the volume" datasetfsctl scrub --start 0:5 kept/a
assert_fails 2 "'nothing'" datasetfsctl scrub --from nothing kept/a
assert_fails 2 "nothing" datasetfsctl scrub nothing
datasetfsctl scrub --json --start 0:5 kept/a >scrub.json 2>err && fail "--start 0:5 is taken"
assert_eq "the JSON of a run that failed" "$(json interrupted scrub.json)" true
