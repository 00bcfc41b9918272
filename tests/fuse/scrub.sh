#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan
# Flipped bytes on one member of a mirror, under a mount and its readers: no error and no wrong byte; .datasetfs/damage
# lists what reads found; scrub --repair makes it right while they read. Where both copies are flipped, a read gives
# EIO.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

seed=${SEED:-$RANDOM}
flips=$(length 100 1000)
say "SEED=$seed, $flips flips"
mkdir -p source/small
for i in {1..300}; do head -c $((i * 53)) /dev/urandom >"source/small/$i"; done
head -c 9000000 /dev/urandom >source/large
for i in {1..20000}; do echo "line $i of a text that can be compressed"; done >source/text
mkdir vol
pack vol/a,vol/b source --protect mirror:2 --segment-size 1M --compress zstd
cp -r vol kept
python3 "$LIB/member_rows.py" flip "$seed" "$flips" 1 vol/a vol/b >flips

say "all of it is read"
mount_volume vol/a mnt
assert_eq "damage before a read" "$(cat mnt/.datasetfs/damage)" ""
for round in 1 2 3; do
    [ "$round" = 1 ] || evict mnt
    compare source mnt || fail "round $round: the mount has something else"
done
assert_eq "failures" "$(stats mnt read_failures)" 0
[ "$(stats mnt checksum_failures)" -gt 0 ] || fail "no read met a flip"
cat mnt/.datasetfs/damage >damage # cp would find another snapshot at each of its looks
[ -s damage ] || fail "no place is listed"
assert_eq "places in stats.json" "$(stats mnt damaged)" "$(wc -l <damage)"
assert_contains "status" "$(datasetfsctl status mnt)" "damage: $(wc -l <damage) place"
python3 - <<'END' || fail "a place in .datasetfs/damage has no flip: $(cat damage)"
flips = [int(line.split()[1]) for line in open("flips")]
seen = set()
for line in open("damage"):
    member, offset, length, reason, version, total, kind = line.rstrip("\n").split("\t")
    assert kind == "wrong", line
    assert member == "1" and version == "v1" and reason, line
    assert total == "-" or len(total) == 16, line
    assert (member, offset) not in seen, line
    seen.add((member, offset))
    assert any(int(offset) <= flip < int(offset) + int(length) for flip in flips), line
END

say "repair while it is read"
(while [ ! -e stop ]; do evict mnt; compare source mnt || { touch failed; break; }; done) >readers.log 2>&1 &
readers=$!
exits 0 datasetfsctl scrub --repair --from mnt/.datasetfs/damage vol/a >out 2>err
while IFS=$'\t' read -r _ offset _; do
    grep -q "^repaired .*member=1 offset=$offset " out || fail "the place at $offset was not repaired: $(cat out)"
done <damage
exits 0 datasetfsctl scrub --repair mnt >out 2>err
touch stop
wait $readers
[ ! -e failed ] || fail "readers: $(cat readers.log)"
assert_eq "failures" "$(stats mnt read_failures)" 0
datasetfsctl scrub vol/a >out || fail "the second scrub: $(cat out)"
assert_contains "the second scrub" "$(cat out)" "clean: "
python3 "$LIB/member_rows.py" same vol kept || fail "the rows are not what they were"
wrong=$(stats mnt checksum_failures)
for round in 1 2; do
    evict mnt
    compare source mnt || fail "after the repair, round $round: the mount has something else"
done
assert_eq "wrong bytes after the repair" "$(stats mnt checksum_failures)" "$wrong"
unmount mnt

say "both copies"
datasetfsctl stat --json vol/a small/200 | python3 "$LIB/chunks.py" >chunks
read -r _ _ member offset _ <chunks
python3 "$LIB/member_rows.py" copies "$member" "$offset" vol/a vol/b >both
while read -r file at; do spoil "$file" "$at"; done <both
mount_volume vol/b mnt
! cat mnt/small/200 >out 2>err || fail "a file that is wrong on both members was read"
assert_contains "the error" "$(cat err)" "Input/output error"
assert_eq "places" "$(cut -f 1 mnt/.datasetfs/damage | sort | xargs)" "0 1"
cmp source/small/201 mnt/small/201 || fail "another file"
exits 1 datasetfsctl scrub --repair --from mnt/.datasetfs/damage vol/a >out 2>err
assert_contains "the file" "$(cat out)" "lost 'small/200': no copy is right"
unmount mnt

say "the copy that is left"
names=(a b)
mv "vol/${names[$member]}" away
mount_volume "vol/${names[1 - member]}" mnt
! cat mnt/small/200 >out 2>err || fail "a file that is wrong on the only member was read"
assert_eq "places" "$(cut -f 1 mnt/.datasetfs/damage | sort -u)" $((1 - member))
unmount mnt

say "a member that gives errors"
mv away "vol/${names[$member]}"
mv vol/b slow
slow_device slow vol/b 0 b.control
mount_volume vol/a mnt
slow_control b.control eio
for _ in {1..20}; do
    for i in {1..199}; do cmp source/small/$i mnt/small/$i || fail "small/$i"; done
    evict mnt
    [ ! -s mnt/.datasetfs/damage ] || break
done
cat mnt/.datasetfs/damage >damage
assert_eq "members and kinds" "$(cut -f 1,7 damage | sort -u)" "1	unreadable"
assert_contains "the reason" "$(cat damage)" "the device says: Input/output error"
[ "$(wc -l <damage)" -le 20 ] || fail "a member that fails altogether fills the list: $(cat damage)"
echo 0 >b.control
unmount mnt
