#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=300
# datasetfsctl member add: more members, which the next publish uses, and which every name of the volume but a list of
# the former ones finds. Killed at any write, the volume is what it was or has the member, can be published to, and the
# same command goes on.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir source
for i in {1..30}; do head -c $((i * 9970)) /dev/urandom >source/$i; done

# states VOLUME: of its members
states() {
    datasetfsctl member list --json "$1" | python3 -c '
import json, sys
print(*(member["state"] for member in json.load(sys.stdin)["members"]))'
}

# used VOLUME NUMBER: bytes on that member
used() {
    datasetfsctl member list --json "$1" | json "members.$2.used_bytes"
}

# clean VOLUME
clean() {
    datasetfsctl verify "$1" >verify.log 2>&1 || fail "verify $1: $(cat verify.log)"
}

say "refusals"
pack single source
assert_fails 1 "the volume is a single file or device: it has no members" datasetfsctl member add single d
pack a,b,c source --label one --segment-size 1M
one=$(datasetfsctl dump a one | sha256sum)
cp single other
assert_fails 1 "'other' holds a datasetfs volume, or a member of one, --force replaces it" \
    datasetfsctl member add a other
assert_fails 1 "'d' is named twice" datasetfsctl member add a d d
assert_fails 2 "" datasetfsctl member add a
[ ! -e d ] || fail "a refusal has made the file"

say "a file"
assert_eq "the dry run" "$(datasetfsctl member add --dry-run a d e)" "'d' would be member 3 of 'a'
'e' would be member 4 of 'a'"
[ ! -e d ] || fail "the dry run has made the file"
assert_eq "one" "$(datasetfsctl member add a d)" "'d' is member 3 of 'a'"
assert_eq "its mode" "$(stat -c %a d)" 600
assert_eq "once more" "$(datasetfsctl member add a d)" "'d' is member 3 of 'a' already"
assert_eq "the states" "$(states d)" "ok ok ok ok"
assert_eq "what it has" "$(used a 3)" 0
assert_eq "the former version" "$(datasetfsctl dump d one | sha256sum)" "$one"
clean a
for i in {1..30}; do head -c $((i * 9970)) /dev/urandom >source/$i; done
pack a source --label two
[ "$(used a 3)" -gt $((30 * 31 / 2 * 9970 / 8)) ] || fail "the publish puts only $(used a 3) bytes there"
clean b
assert_fails 1 "1 of 4 members are missing: member 3" datasetfsctl list a,b,c
datasetfsctl list a,d,b,c >/dev/null || fail "a list of all"

say "several at once, one of which is there"
datasetfsctl member add --force --json a d e other >add.json || fail "add"
assert_eq "the JSON" "$(tr -d ' "\n' <add.json)" "{volume:a,dry_run:false,added:[{member:3,name:d,was_there:true},$(
    ){member:4,name:e,was_there:false},{member:5,name:other,was_there:false}]}"
assert_eq "the states" "$(states e)" "ok ok ok ok ok ok"
pack e source --label three
clean e
datasetfsctl list --json e | python3 -c '
import json, sys
assert json.load(sys.stdin)["members"] == 6' || fail "the list"

say "a mirrored volume"
pack m.a,m.b source --label one --segment-size 1M --protect mirror:2
datasetfsctl member add m.a m.c >/dev/null || fail "add"
echo more >source/more
head -c 3M /dev/urandom >source/large
pack m.a source --label two
mv m.a gone
for label in one two; do
    datasetfsctl verify m.c $label >verify.log 2>&1 || [ $? = 2 ] || fail "without a member: $(cat verify.log)"
done
[ "$(used m.c 2)" -gt 1000000 ] || fail "the new member has only $(used m.c 2) bytes"
mv gone m.a
clean m.a

say "killed at any write"
cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/fault.c" -o fault.so || fail "fault.c does not compile"
mkdir base work
pack base/a,base/b source --label one --segment-size 1M
cd work
# begin: a volume of two, and nothing in the place of the third
begin() {
    cp ../base/? .
    rm -f c
    : >c
}
adds=(datasetfsctl member add a c)
watched=FAULT_VOLUME=$PWD/a,$PWD/b,$PWD/c
begin
env FAULT_KIND=write FAULT_COUNT="$PWD/count" "$watched" LD_PRELOAD="$PWD/../fault.so" "${adds[@]}" >out ||
    fail "counting"
total=$(cat count)
[ "$total" -gt 8 ] || fail "only $total writes"
before=0 after=0 refused=0
for ((n = 1; n <= total; n++)); do
    begin
    env FAULT_KIND=write FAULT_AT=$n FAULT_STOP=1 "$watched" LD_PRELOAD="$PWD/../fault.so" "${adds[@]}" >out 2>err &
    program=$!
    wait_for 20 is_stopped $program || fail "it does not stop at write $n: $(cat err)"
    kill -KILL $program
    wait $program 2>/dev/null || true
    clean a
    case $(states a) in
    "ok ok") before=$((before + 1)) ;;
    "ok ok ok") after=$((after + 1)) ;;
    *) fail "after write $n the members are $(states a)" ;;
    esac
    [ $((n % 3)) = 0 ] || pack a ../source --label between
    rc=0
    datasetfsctl current c one >out 2>err || rc=$?
    [ $rc -le 1 ] || fail "a change by the newcomer's name after write $n: status $rc: $(cat err)"
    ! grep -q "'datasetfsctl member add' was cut off" err || refused=$((refused + 1))
    clean a
    "${adds[@]}" >out 2>err || fail "again after write $n: $(cat err)"
    assert_contains "again after write $n" "$(cat out)" "'c' is member 2 of 'a'"
    pack b ../source --label two
    clean c
    assert_eq "the states after write $n" "$(states c)" "ok ok ok"
done
say "$total writes: the volume had the member $after times, $before times not; refused $refused changes by its name"
[ $before -gt 0 ] && [ $after -gt 0 ] && [ $refused -gt 0 ] || fail "all of them must occur"
cd ..

say "devices"
can_loop || skip "no loop devices"
truncate -s 4M small
loop_device small
assert_fails 1 "'$LOOP' has 4194304 bytes, the member needs 6291456" datasetfsctl member add a "$LOOP"
truncate -s 32M large
loop_device large
mkfs.ext4 -q -F "$LOOP"
assert_fails 1 "'$LOOP' holds a filesystem or volume of type ext4, --force replaces it" \
    datasetfsctl member add a "$LOOP"
list=a,b,c,d,e,other
datasetfsctl member add --force $list "$LOOP" >/dev/null || fail "a device"
pack "$list,$LOOP" source --label four
clean "$list,$LOOP"
assert_eq "the size of the device" "$(datasetfsctl list --json "$list,$LOOP" | json member_list.6.member_size)" \
    $((32 << 20))
