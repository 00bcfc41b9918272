#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan timeout=300
# datasetfsctl member drain: all content goes to other members, with as many copies, and the member leaves: nobody needs
# or uses it any more, and its number is free for another. A missing one can be drained if it has copies. Killed at any
# write, the volume is sound, and the same command goes on.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

small_files source 3 300 1
cp -r source source2
head -c 2M /dev/urandom >source2/more

# states VOLUME: of its members
states() {
    datasetfsctl member list --json "$1" | python3 -c '
import json, sys
print(*(member["state"] for member in json.load(sys.stdin)["members"]))'
}

# clean VOLUME
clean() {
    datasetfsctl verify "$1" >verify.log 2>&1 || fail "verify $1: $(cat verify.log)"
}

# digests VOLUME: of its versions
digests() {
    datasetfsctl list --json "$1" | python3 -c '
import json, sys
print(*sorted((version["label"], version["digest"]) for version in json.load(sys.stdin)["versions"]))'
}

say "an unprotected volume"
pack a,b,c source --label one --segment-size 1M
pack a source2 --label two
before=$(digests a)
datasetfsctl member drain --dry-run --json a 1 >dry.json || fail "dry run"
assert_eq "the dry run" "$(json left dry.json) $(states a)" "false ok ok ok"
datasetfsctl member drain a b >out || fail "drain: $(cat out)"
assert_contains "it says" "$(cat out)" "member 1 has left 'a'"
assert_eq "the states" "$(states a)" "ok left ok"
assert_eq "the digests" "$(digests a)" "$before"
clean a
mkdir gone
mv b gone/
clean c
assert_eq "its number" "$(datasetfsctl member list --json c | json members.1.used_bytes)" 0
datasetfsctl list c | grep -q '(left)' || fail "list: $(datasetfsctl list c)"
pack c source --label three
datasetfsctl scrub a >scrub.log || fail "scrub: $(cat scrub.log)"
datasetfsctl compact a >/dev/null || fail "compact"
assert_eq "once more" "$(datasetfsctl member drain a 1)" "'a': nothing lies on the member
member 1 has left 'a'"
mv gone/b .
clean a,b,c # it is passed over
assert_eq "the states with its file" "$(states a,b,c)" "ok left ok"
datasetfsctl member drain a 0 >/dev/null 2>&1 || fail "the first one"
assert_fails 1 "0 members would stay, and the content has up to 1 copy" datasetfsctl member drain c 2
assert_eq "the states in the end" "$(states c)" "left left ok"
clean c
pack c source2 --label four
clean c

say "its number is used again"
datasetfsctl member replace --progress none c 1 new >/dev/null || fail "replace"
assert_eq "the states" "$(states c)" "left ok ok"
pack c source --label five
clean new

say "a mirrored volume, by the first member, which is missing"
pack m.a,m.b,m.c source --label one --segment-size 1M --protect mirror:2
mv m.a gone/
assert_fails 1 "member 0 is missing" datasetfsctl member drain m.b 0
datasetfsctl member drain --degraded m.b 0 >out 2>err || fail "drain: $(cat err)"
assert_eq "the states" "$(states m.b)" "left ok ok"
clean m.b
assert_eq "what has copies" "$(datasetfsctl list m.c | grep '^\*' | grep -oE '[0-9]+%')" 100%
mkdatasetfs --progress none --label two m.c source2 >pack.log 2>&1 || fail "a publish needs it: $(cat pack.log)"
mv m.b gone/
mkdatasetfs --progress none --degraded=half --label three m.c source >pack.log 2>&1 || fail "half: $(cat pack.log)"
assert_fails 1 "1 member would stay, and the content has up to 2 copies" datasetfsctl member drain --degraded=half m.c 1

say "killed at any write"
cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/fault.c" -o fault.so || fail "fault.c does not compile"
mkdir little
head -c 700000 /dev/urandom >little/large
for i in 1 2 3; do head -c 5000 /dev/urandom >little/$i; done
mkdir base work
pack base/a,base/b,base/c little --label one --segment-size 1M
cd work
begin() {
    cp ../base/? .
}
watched=FAULT_VOLUME=$PWD/a,$PWD/b,$PWD/c
drain=(datasetfsctl member drain a 2)
begin
env FAULT_KIND=write FAULT_COUNT="$PWD/count" "$watched" LD_PRELOAD="$PWD/../fault.so" "${drain[@]}" >out ||
    fail "counting"
total=$(cat count)
before=0 after=0
for ((n = 1; n <= total; n++)); do
    begin
    env FAULT_KIND=write FAULT_AT=$n FAULT_STOP=1 "$watched" LD_PRELOAD="$PWD/../fault.so" "${drain[@]}" >out 2>err &
    program=$!
    wait_for 20 is_stopped $program || fail "it does not stop at write $n: $(cat err)"
    kill -KILL $program
    wait $program 2>/dev/null || true
    clean a
    case $(states a) in
    "ok ok ok") before=$((before + 1)) ;;
    "ok ok left") after=$((after + 1)) ;;
    *) fail "after write $n the members are $(states a)" ;;
    esac
    [ $((n % 3)) = 0 ] || pack a ../source2 --label between
    "${drain[@]}" >out 2>err || fail "again after write $n: $(cat err)"
    rm c
    clean b
    pack b ../little --label two
done
say "$total writes: the member had left $after times, $before times not"
[ $before -gt 0 ] && [ $after -gt 0 ] || fail "both must occur"
