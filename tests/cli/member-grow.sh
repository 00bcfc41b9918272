#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# datasetfsctl member grow: the space by which a device has grown is used, by versions and by catalogues, and not
# before. A device that has shrunk is refused.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_loop

# enlarge FILE SIZE: the file below $LOOP
enlarge() {
    truncate -s "$2" "$1"
    losetup --set-capacity "$LOOP"
}

mkdir small large
head -c 2M /dev/urandom >small/file
head -c 30M /dev/urandom >large/file

say "a device"
truncate -s 8M disk
loop_device disk
disk=$LOOP
pack "$disk" small --label small
assert_eq "a device that has not grown" "$(datasetfsctl member grow "$disk")" "'$disk': no device has grown"
enlarge disk 64M
assert_contains "list" "$(datasetfsctl list "$disk")" \
    "grown       by 56.0 MiB, which 'datasetfsctl member grow' takes"
assert_fails 1 "'datasetfsctl member grow' takes the 56.0 MiB that the device has gained" \
    mkdatasetfs --progress none "$disk" large
before=$(datasetfsctl list --json "$disk")
assert_eq "the dry run" "$(datasetfsctl member grow --dry-run "$disk")" "'$disk': would grow from 8.00 MiB to 64.0 MiB"
assert_eq "the volume after the dry run" "$(datasetfsctl list --json "$disk")" "$before"
datasetfsctl member grow --json "$disk" >grow.json || fail "grow"
assert_eq "the JSON" "$(tr -d ' "\n' <grow.json)" "{volume:$disk,dry_run:false,grown_bytes:$((56 << 20)),$(
    )members:[{member:0,former_size:$((8 << 20)),size:$((64 << 20))}]}"
assert_eq "the size" "$(datasetfsctl list --json "$disk" | json member_size)" 67108864
assert_eq "a second time" "$(datasetfsctl member grow "$disk")" "'$disk': no device has grown"
pack "$disk" large --label large
datasetfsctl verify "$disk" >verify.log || fail "verify: $(cat verify.log)"
mkdir out
datasetfsctl extract -C out "$disk" >/dev/null || fail "extract"
cmp large/file out/file || fail "the file differs"
assert_fails 1 "it has no members" datasetfsctl member grow "$disk" 0

say "the same device, when it has shrunk"
truncate -s 60M disk
losetup --set-capacity "$disk"
assert_fails 1 "does not see yet that it has grown: 62914560 bytes, expected 67108864" datasetfsctl member grow "$disk"
enlarge disk 64M

say "a device with a volume that was a file"
pack file small --label small
echo more >small/more
pack file small --label more
truncate -s 16M other
dd if=file of=other conv=notrunc status=none
loop_device other
assert_fails 1 "volume is full" datasetfsctl current "$LOOP" small
datasetfsctl member grow "$LOOP" >/dev/null || fail "grow"
datasetfsctl current "$LOOP" small >/dev/null || fail "current"
pack "$LOOP" small --label third
datasetfsctl verify "$LOOP" >verify.log || fail "verify: $(cat verify.log)"

say "a file grows by itself, also when it is longer than the volume"
truncate -s 32M file
assert_eq "a file" "$(datasetfsctl member grow file)" "'file': no device has grown"
pack file large --label large
datasetfsctl verify file >verify.log || fail "verify: $(cat verify.log)"

say "members that mirror each other"
list=
for member in a b c; do
    truncate -s 16M $member
    loop_device $member
    list=$list${list:+,}$LOOP
done
head -c 14M /dev/urandom >large/file
pack "$list" small --label small --segment-size 1M --protect mirror:2
enlarge c 24M
assert_fails 1 "'datasetfsctl member grow' takes the 8.00 MiB that" \
    mkdatasetfs --progress none "$list" large --label large
assert_eq "only another member" "$(datasetfsctl member grow "$list" 1)" "'$list': no device has grown"
assert_eq "one of them" "$(datasetfsctl member grow "$list" 2)" "'$list': member 2 has grown from 16.0 MiB to 24.0 MiB"
LOOP=${list%%,*}
enlarge a 24M
LOOP=${list#*,}
LOOP=${LOOP%,*}
enlarge b 24M
assert_eq "the others" "$(datasetfsctl member grow "$list")" \
    "'$list': member 0 has grown from 16.0 MiB to 24.0 MiB
'$list': member 1 has grown from 16.0 MiB to 24.0 MiB"
head -c 20M /dev/urandom >large/file
pack "$list" large --label large
datasetfsctl verify "$list" >verify.log || fail "verify: $(cat verify.log)"
datasetfsctl member list --json "$list" | python3 -c '
import json, sys
for member in json.load(sys.stdin)["members"]:
    assert member["size"] == 24 << 20, member
    assert member["used_bytes"] > 13 << 20, member' || fail "the members: $(datasetfsctl member list "$list")"
assert_fails 1 "there is no member 3" datasetfsctl member grow "$list" 3
