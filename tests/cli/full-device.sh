#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# A full device or disk: one line, status 1, the volume as it was.
. "$(dirname "$0")/../lib/common.sh"
need_loop

mkdir small large
head -c 2M /dev/urandom >small/file
head -c 30M /dev/urandom >large/file
truncate -s 8M disk
loop_device disk
pack "$LOOP" small
before=$(datasetfsctl dump "$LOOP" | sha256sum)
assert_fails 1 "of 8.00 MiB are free, the source takes up to 30.1 MiB" mkdatasetfs --progress none "$LOOP" large
assert_eq "versions" "$(datasetfsctl list --json "$LOOP" | grep -o '"sequence"' | wc -l)" 1
assert_eq "the dump" "$(datasetfsctl dump "$LOOP" | sha256sum)" "$before"
datasetfsctl verify "$LOOP" >/dev/null || fail "verify afterwards"

# A rehearsal says so beforehand.
mkdatasetfs --dry-run --json --progress none "$LOOP" large >dry.json 2>dry.err || true
assert_eq "fits" "$(json fits dry.json)" false

# Without older versions and compression it is said before the first write.
truncate -s 8M empty
disk=$LOOP
loop_device empty
assert_fails 1 "volume '$LOOP' is too small: 6.00 MiB are free, and 'large' has 30.0 MiB; --exclude leaves some out" \
    mkdatasetfs --progress none "$LOOP" large
cmp -n 8388608 empty /dev/zero || fail "something was written"
assert_fails 1 "the source takes up to 31.1 MiB" mkdatasetfs --progress none --compress zstd:1 "$LOOP" large
mkdir zeros
truncate -s 300M zeros/sparse
pack "$LOOP" zeros

# A volume that was a file has data up to its end, where a device keeps room for catalogues.
pack file small --label one
head -c 100K /dev/urandom >small/other
pack file small --label two
loop_device file
assert_fails 1 "volume is full: no room for a catalogue of" datasetfsctl current "$LOOP" one
datasetfsctl verify file >verify.log || fail "a file as a device: $(cat verify.log)"
LOOP=$disk

# A device that has grown.
truncate -s 12M disk
losetup --set-capacity "$LOOP"
assert_fails 1 "'datasetfsctl member grow' takes the 4.00 MiB that the device has gained" \
    mkdatasetfs --progress none "$LOOP" large

# Versions until the device is full: the pointer still moves, again and again, and a version can still be removed, which
# makes room.
mkdir more
for ((n = 0; n < 40; n++)); do
    head -c 400K /dev/urandom >more/file
    mkdatasetfs --progress none --label "more$n" "$LOOP" more >/dev/null 2>err || break
done
[ $n -gt 2 ] && [ $n -lt 40 ] || fail "$n versions on a full device: $(cat err)"
assert_contains "the reason" "$(cat err)" "is full"
for ((round = 0; round < 40; round++)); do
    datasetfsctl current "$LOOP" "more$((round % 2))" >/dev/null || fail "current on a full device, round $round"
done
# Segments may be shared by neighbours, so it takes some of them.
for ((i = 2; i < n; i++)); do
    datasetfsctl remove "$LOOP" "more$i" >/dev/null 2>&1 || fail "remove more$i on a full device"
done
mkdatasetfs --progress none --label again "$LOOP" more >/dev/null ||
    fail "no room after $((n - 2)) versions were removed"
datasetfsctl verify "$LOOP" >/dev/null || fail "verify after all that"

# A file on a full filesystem.
can_mount || skip "no right to mount here"
mkdir mnt
mkfs.ext4 -q -F "$LOOP" >/dev/null
mount "$LOOP" mnt
at_exit umount mnt
assert_fails 1 "volume 'mnt/volume' is too small" mkdatasetfs --progress none mnt/volume large
assert_fails 1 "the filesystem '$PWD/mnt' is full" mkdatasetfs --progress none --compress zstd:1 mnt/volume large
[ ! -e mnt/volume ] || fail "the new file stayed"
umount mnt

# And a temporary directory without room.
mkdir tmp
mount -t tmpfs -o size=64k none tmp
at_exit umount tmp
tree many many --files 20000
exits 1 mkdatasetfs --progress none --temp-dir tmp volume many 2>tmp.err
assert_contains "the reason" "$(cat tmp.err)" "temporary"
[ ! -e volume ] || fail "the new file stayed"
umount tmp

# Where nothing can be written at all, no advice that is for namespaces.
blockdev --setro "$LOOP"
assert_fails 1 "volume '$LOOP': it is read-only" mkdatasetfs --progress none "$LOOP" small
assert_fails 1 "read-only" datasetfsctl current "$LOOP" v1
blockdev --setrw "$LOOP"
assert_fails 1 "there is no such device" mkdatasetfs --dry-run /dev/no-such-device small
