#!/bin/bash
# SPDX-License-Identifier: MIT
# datasetfs(7), A WRITABLE PLACE: its session is run command by command and prints what the page says. What is below
# stays as it is, and nothing changes under an overlay when the mount switches.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_mount
need_filesystem overlay

mkdir -p train/cat
echo meow >train/cat/1.txt
echo purr >train/cat/2.txt
pack train.dsfs train --label v7

# Its own folder as upper layer must be one that an overlay takes: not itself an overlay, as in containers.
mkdir try-lower try-upper try-work try
mount -t overlay overlay -o lowerdir=try-lower,upperdir=try-upper,workdir=try-work try 2>/dev/null ||
    skip "no overlay on the filesystem of the test"
umount try

at_exit umount -l work
mkdir mnt
python3 "$LIB/manual_session.py" "$DATASETFS_SOURCE/man/datasetfs.7" "A WRITABLE PLACE" 8 ||
    fail "datasetfs(7) and the programs disagree"
assert_eq "the mount" "$(cat mnt/cat/1.txt)" meow
assert_eq "what was written" "$(cat upper/notes.txt)" "label 2 is wrong"

# A version by its label goes on as it is, whatever the mount serves.
rm train/cat/1.txt
pack train.dsfs train --label v8
mkdir -p upper2 layers2 merged
mount -t overlay overlay -o "lowerdir=mnt/.datasetfs/versions/v7,upperdir=upper2,workdir=layers2" merged ||
    fail "a directory of a version is no lower layer"
at_exit umount -l merged
datasetfsctl switch mnt v8 >/dev/null || fail "switch"
[ ! -e mnt/cat/1.txt ] || fail "the mount did not switch"
assert_eq "the version below" "$(cat merged/cat/1.txt)" meow
echo more >>merged/cat/2.txt
assert_eq "a file that was changed" "$(cat merged/cat/2.txt)" $'purr\nmore'
assert_eq "the file of the mount" "$(cat mnt/cat/2.txt)" purr
umount merged
umount mnt
