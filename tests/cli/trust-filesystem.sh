#!/bin/bash
# SPDX-License-Identifier: MIT
# --trust-mtime: nothing is trusted if another filesystem lies at the place of the source, or if a program wrote its
# ctimes. The sources differ in content alone: names, sizes, times and inode numbers are the same.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/clock.sh"
need_loop
need_mount
need_command mke2fs debugfs

for i in A B; do
    mkdir $i
    for name in one two three; do echo "$name is $i" >$i/$name; done
    find $i -exec touch -d @1700000000 {} +
done
mkdir source
source=$PWD/source
at_exit leave
leave() {
    ! mountpoint -q "$source" || umount "$source"
}

# publish OPTIONS…: its summary in out
publish() {
    later mkdatasetfs --progress none "$@" volume source >out 2>err || fail "publish $*: $(cat err)"
}

# attach IMAGE OPTIONS: becomes the source, on a loop device that ends with the mount
attach() {
    loop_device "$1"
    mount -o "$2" "$LOOP" source || fail "cannot mount $1"
    losetup --detach "$LOOP"
}

# image NAME UUID: an ext4 in NAME.img with the files of the folder; their ctimes are whole seconds
image() {
    rm -f "$1.img"
    truncate -s 8M "$1.img"
    mke2fs -q -t ext4 -O ^has_journal -U "$2" -d "$1" "$1.img" || fail "mke2fs"
    for name in one two three; do
        echo "set_inode_field /$name ctime @1700000000"
        echo "set_inode_field /$name ctime_extra 0"
    done | debugfs -w -f - "$1.img" >debugfs.log 2>&1 || fail "$(cat debugfs.log)"
}

# reads NAME LINE: B.img is read although A.img, published before, has the same inode numbers and times
reads() {
    say "$1"
    rm -f volume
    attach A.img ro
    publish
    stat -c '%i %s %Y %Z' source/one source/two source/three >A.stat
    leave
    attach B.img ro
    stat -c '%i %s %Y %Z' source/one source/two source/three >B.stat
    assert_eq "inode numbers and times of $1" "$(cat B.stat)" "$(cat A.stat)"
    publish --trust-mtime
    assert_eq "summary of $1" "$(grep -E 'all files|not opened' out || true)" "$2"
    assert_eq "content of $1" "$(datasetfsctl cat volume two)" "two is B"
    publish --trust-mtime --json
    assert_eq "not_trusted of $1" "$(json not_trusted out)" "$3"
    leave
}

image A 01234567-89ab-cdef-8123-456789abcdef
image B 11234567-89ab-cdef-8123-456789abcdef
reads "another filesystem of the same kind" \
    "  the source is on another filesystem than last time: all files were read" None
image B 01234567-89ab-cdef-8123-456789abcdef
reads "one of the same UUID, with ctimes of a program" "" None

say "a filesystem that is mounted again is trusted, and what changed on it is read"
rm -f volume
attach A.img rw
touch source/one source/two source/three
publish
leave
attach A.img rw
publish --trust-mtime
assert_contains "summary" "$(cat out)" "3 files not opened"
printf 'TWO' | dd of=source/two conv=notrunc status=none
touch -d @1700000000 source/two
publish --trust-mtime
assert_contains "summary" "$(cat out)" "2 files not opened"
assert_eq "changed content" "$(datasetfsctl cat volume two)" "TWO is A"
leave

unkept="  the source is on a filesystem that keeps no change times (TYPE): all files were read"
if command -v mksquashfs >/dev/null && (need_filesystem squashfs); then
    for i in A B; do mksquashfs $i $i.img -noappend -all-time 1700000000 -quiet -no-progress >/dev/null; done
    reads SquashFS "${unkept/TYPE/squashfs}" "no change times"
fi
if command -v mkfs.erofs >/dev/null && (need_filesystem erofs); then
    for i in A B; do rm $i.img && mkfs.erofs -T1700000000 $i.img $i >/dev/null 2>&1; done
    reads EROFS "${unkept/TYPE/erofs}" "no change times"
fi

need_fuse
say "the first versions of two volumes have the same inode numbers"
rm -f volume
for i in A B; do pack $i.dsfs $i; done
mount_volume A.dsfs source
publish
unmount source
mount_volume B.dsfs source
publish --trust-mtime
assert_eq "summary of our own mount" "$(grep 'all files' out)" "${unkept/TYPE/fuse.datasetfs}"
assert_eq "content of our own mount" "$(datasetfsctl cat volume two)" "two is B"
unmount source
