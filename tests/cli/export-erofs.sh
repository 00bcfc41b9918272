#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# datasetfsctl export erofs: what it says, what it refuses, and that it leaves nothing half written. What the kernel
# makes of its files is fuse/kernel-mount.sh's.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir source
for size in 1 4095 4096 4097 8191 8192 300000; do head -c $size /dev/urandom >"source/$size"; done
ln -s target source/link
pack volume source --label v1

say "what it says"
datasetfsctl export erofs --dry-run volume v1 image >export.out
assert_contains "dry run" "$(cat export.out)" "'image': would have "
assert_contains "the command of a dry run" "$(tail -n 1 export.out)" "it would be mounted by: mount -t erofs -o loop,"
[ ! -e image ] || fail "a dry run writes"
datasetfsctl export erofs --json volume v1 image >export.out
assert_eq "file" "$(json file export.out) $(json written export.out) $(json devices.0 export.out)" "image true volume"
assert_eq "size" "$(json bytes export.out)" "$(stat -c %s image)"
assert_eq "inodes" "$(json inodes export.out)" 9
datasetfsctl export erofs --force volume v1 image >text.out
assert_eq "the command" "$(tail -n 1 text.out)" \
    "mount -t erofs -o loop,ro,nosuid,nodev,device=\$(losetup -rf --show volume) image MOUNTPOINT"
assert_contains "what a mount is worth" "$(cat text.out)" "the kernel verifies nothing that it reads"
assert_eq "48 bits" "$(json needs_48bit export.out)" false
[ "$(json copied_files export.out)" -ge 2 ] || fail "small files lie on the volume: $(cat export.out)"
[ "$(json copied_bytes export.out)" -ge 4096 ] || fail "bytes of small files: $(cat export.out)"
assert_eq "mode" "$(stat -c %a image)" 600
datasetfsctl export erofs --dry-run --json volume v1 image >dry.out
assert_eq "dry run" "$(sed 's/false/true/' dry.out)" "$(cat export.out)"

cp volume "a \$(touch bad) it's"
datasetfsctl export erofs --dry-run "a \$(touch bad) it's" v1 "an image" >export.out
mkdir bin
printf '#!/bin/sh\nprintf "<%%s>" "$@" >>../words\necho loop\n' | tee bin/mount >bin/losetup
chmod +x bin/*
(cd bin && tail -n 1 ../export.out | sed 's/^it would be mounted by: //; s/ MOUNTPOINT$//' | PATH=$PWD:$PATH bash)
assert_eq "words for a shell" "$(cat words)" \
    "<-rf><--show><a \$(touch bad) it's><-t><erofs><-o><loop,ro,nosuid,nodev,device=loop><an image>"
rm -r bin words

say "the same bytes again"
sum=$(hash_of image)
assert_fails 1 "'image': it is there already: --force replaces it" datasetfsctl export erofs volume v1 image
ln image before
datasetfsctl export erofs --force volume v1 image >export.out
assert_eq "bytes" "$(hash_of image)" "$sum"
[ ! image -ef before ] || fail "--force writes into the file that somebody may have mounted"
rm image before
c_program lib/without_io_uring
./without_io_uring datasetfsctl export erofs volume v1 image >export.out || [ $? = 77 ] || fail "without io_uring"
[ ! -e image ] || assert_eq "bytes without io_uring" "$(hash_of image)" "$sum"
rm -f image
if command -v fsck.erofs >/dev/null; then
    datasetfsctl export erofs volume v1 image >export.out
    truncate -s "$(stat -c %s image)" device
    fsck.erofs --device=device image || fail "fsck.erofs"
    rm image device
fi

say "what it refuses"
size=$(stat -c %s volume)
assert_fails 1 "cannot export 'v1' of 'volume': 'volume': it is the volume itself" \
    datasetfsctl export erofs --force volume v1 volume
assert_eq "the volume" "$(stat -c %s volume)" "$size"
assert_fails 1 "the volume has no version 'v9'" datasetfsctl export erofs volume v9 image
assert_fails 1 "'source': it is not a regular file, and --force replaces no other" \
    datasetfsctl export erofs --force volume v1 source
assert_fails 1 "'nowhere/image': there is no directory 'nowhere'" datasetfsctl export erofs volume v1 nowhere/image
assert_fails 2 "expected VOLUME|MNT LABEL FILE" datasetfsctl export erofs volume v1
assert_fails 2 "unknown verb 'ext4'" datasetfsctl export ext4 volume v1 image
for i in {1..5000}; do echo "line $i of a text that can be compressed"; done >source/text
pack packed source --compress zstd
assert_fails 1 "'/text': some of its content is compressed, which the kernel's EROFS cannot read" \
    datasetfsctl export erofs packed v1 image
(ulimit -f 4 && assert_fails 1 "cannot " datasetfsctl export erofs volume v1 image) || fail "a disk that is full"
pack a,b source --protect mirror:2
mkdir away
mv b away
assert_fails 1 "member 1 of the volume is missing or stale" datasetfsctl export erofs a v1 image
assert_eq "files that are left" "$(ls -d image* *.new.* 2>/dev/null)" ""

say "hostile volumes"
cp volume damaged
offset=$(datasetfsctl stat --json volume 4095 | python3 "$LIB/chunks.py" | cut -d' ' -f4)
spoil damaged "$offset"
assert_fails 1 "'/4095': chunk " datasetfsctl export erofs damaged v1 image
say "of a file behind whose end another one lies the last block is copied: its whole chunk is verified"
mkdir tails
head -c 9000 /dev/urandom >tails/a
head -c 500 /dev/urandom >tails/b
pack behind tails
datasetfsctl export erofs --json --dry-run behind v1 image >export.out
assert_eq "copied" "$(json copied_files export.out) $(json copied_bytes export.out)" "2 $((9000 - 8192 + 500))"
spoil behind "$(datasetfsctl stat --json behind a | python3 "$LIB/chunks.py" | cut -d' ' -f4)"
assert_fails 1 "'/a': chunk sum" datasetfsctl export erofs behind v1 image
rm -rf source/*
mkdir source/.datasetfz
pack forged source
"$DATASETFS_BUILD/tests/format/forge" forged index .datasetfz .datasetfs
assert_fails 1 "which is the name of the mount's own directory" datasetfsctl export erofs forged v1 image
assert_eq "files that are left" "$(ls -d image* *.new.* 2>/dev/null)" ""
