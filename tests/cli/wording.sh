#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# Messages name what is wrong and what to do: a missing directory, a mode, a full filesystem, space that waits.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir source
head -c 300000 /dev/urandom >source/file
pack volume source --label one

say "a path that leads nowhere"
none="there is no directory '$PWD/none'"
assert_fails 1 "mkdatasetfs: volume '$PWD/none/deep/volume': $none" mkdatasetfs "$PWD/none/deep/volume" source
assert_fails 1 "cannot list '$PWD/none/volume': $none" datasetfsctl list "$PWD/none/volume"
assert_fails 1 "'none/a': there is no directory 'none'" datasetfsctl list none/a,none/b
assert_fails 1 "'none/file': there is no directory 'none'" datasetfsctl export tar volume one none/file
assert_fails 1 "volume 'volume/new': 'volume' is not a directory" mkdatasetfs volume/new source
assert_fails 1 "cannot list 'nothing': there is no such file or device: check the path" datasetfsctl list nothing

say "space of a removed version"
mkdir many few
for ((i = 0; i < 300; i++)); do head -c 10000 /dev/urandom >many/$i; done
cp many/?0 few/
pack shared many --label many --segment-size 1M
pack shared few --label few
datasetfsctl remove shared many >out 2>/dev/null || fail "remove"
grep -qE "^version 'many' removed from 'shared', [0-9.]+ MiB wait for 'datasetfsctl compact shared'$" out ||
    fail "what waits: $(cat out)"
pack shared many --label again
datasetfsctl remove --json shared few >out 2>/dev/null || fail "remove --json"
waiting=$(json waiting_bytes out)
assert_eq "what waits" "$(datasetfsctl compact --dry-run --json shared | json freed_bytes)" "$waiting"
[ "$waiting" -gt 0 ] || fail "nothing waits"
datasetfsctl compact shared >/dev/null 2>&1 || fail "compact"
mkdir other
echo other >other/file
pack shared other --label other --chunk-size 64K
datasetfsctl remove shared again >out 2>/dev/null || fail "remove"
grep -qE "^version 'again' removed from 'shared', [0-9.]+ MiB became free" out || fail "what is free: $(cat out)"

say "a member without a superblock"
pack a,b,c source --protect mirror:2
head -c 1M /dev/zero | dd of=b conv=notrunc status=none
assert_contains "member list" "$(datasetfsctl member list a)" "missing: not found, nothing here has its superblock"

say "a verb of two words"
assert_fails 2 "datasetfsctl: export tar: unknown option '--bad'" datasetfsctl export tar --bad

if (need_fuse) >/dev/null; then
    say "a mount whose volume has another name by now"
    mkdir mnt
    mount_volume volume mnt
    mv volume moved
    assert_fails 1 "there is no '$PWD/volume', which was mounted: it was renamed or deleted, or is not" \
        datasetfsctl list mnt
    mv moved volume
    unmount mnt
fi

need_root
say "another user"
chmod 755 .
mkdir closed
chmod 700 closed
cp volume closed/
chmod 600 volume
assert_fails 1 "may not read it: it is user 0's and has mode 0600; if it is a volume, its owner can let others" \
    as_user datasetfsctl list volume
chmod 644 volume
assert_fails 1 "user 65534 may not change it: it is user 0's and has mode 0644; if it is a volume, its owner can" \
    as_user datasetfsctl remove volume one
chown 0:65534 volume
assert_fails 1 "user 65534 may not change it: it is user 0's and has mode 0644;" as_user datasetfsctl remove volume one
assert_fails 1 "user 65534 may not search the directory '$PWD/closed': it is user 0's and has mode 0700" \
    as_user datasetfsctl list "$PWD/closed/volume"
for command in "mkdatasetfs /etc/passwd other" "datasetfsctl remove /etc/shadow one" "datasetfsctl list /etc/shadow"; do
    exits 1 as_user $command >theirs.out 2>&1
    ! grep -q chmod theirs.out || fail "$command: $(cat theirs.out)"
done
assert_fails 1 "volume 'new': user 65534 may not make files in its directory, which is user 0's and has mode 0755" \
    as_user mkdatasetfs new other

need_mount
say "a filesystem without room"
mkdir small
mount -t tmpfs -o size=1M none small
at_exit umount small
mkdir small/deep
full="the filesystem '$PWD/small' is full: write of "
assert_fails 1 "mkdatasetfs: $full" mkdatasetfs --progress none --compress zstd:1 --temp-dir . small/deep/volume many
head -c 1020K /dev/zero >small/file
assert_fails 1 "temporary files in 'small' (see --temp-dir): No space left" \
    mkdatasetfs --progress none --temp-dir small new many
