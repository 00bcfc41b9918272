#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan,gcc
# A mount of somebody who lies: libdatasetfs ends every call with an error, follows nothing out of the mount, and takes
# a bounded amount of memory.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_command cc pkg-config
export PATH=$DATASETFS_BUILD/tests/library:$DATASETFS_BUILD/tests:$PATH
export WAY=mount

# shellcheck disable=SC2046
cc -D_GNU_SOURCE -O1 -Wall -Wextra -I"$DATASETFS_SOURCE/include" "$DATASETFS_SOURCE/tests/library/hostile.c" \
    -o hostile $(pkg-config --cflags --libs fuse3) || fail "hostile.c does not compile"
mkdir mnt

# hostile MODE: in the place of the one before
hostile() {
    ! is_mounted mnt || fusermount3 -u -z mnt
    MODE=$1 ./hostile mnt
    at_exit fusermount3 -u -z mnt
    wait_for 10 is_mounted mnt || fail "no mount for $1"
}

# answers LINE COMMAND…: of a session
answers() {
    local line=$1 found
    shift
    found=$(printf '%s\n' "$@" | timeout 60 library-way mnt session | tail -1)
    assert_contains "'$*'" "$found" "$line"
}

hostile honest
answers "lie" "lookup file" "read $(((1 << 40) + 2))"
answers "lie" "read $(((1 << 40) + 4))"
answers "$(((1 << 40) + 4))" "lookup folder/below"
answers "EACCES inode $(((1 << 40) + 7)) is in no directory" "read $(((1 << 40) + 7))"

told="a version that the mount describes"
for mode in text label sequence inodes result crowd again; do
    hostile $mode
    case $mode in
    text) assert_fails 1 "EBADMSG: $told: a label without an end" library-way mnt session ;;
    label) assert_fails 1 "EBADMSG: $told: label '../../..'" library-way mnt session ;;
    sequence) assert_fails 1 "$told: sequence 1099511627776" library-way mnt session ;;
    inodes) assert_fails 1 "$told: 1099511627776 inodes" library-way mnt session ;;
    result) assert_fails 1 "EBADMSG: '.datasetfs/control' of the mount answers with 7, expected 0" \
        library-way mnt session ;;
    crowd) assert_fails 1 "the mount describes 4294967295 versions at once" library-tree mnt versions ;;
    again) assert_fails 1 "the mount describes sequence 1 after 32" library-tree mnt versions ;;
    esac
done

hostile number
answers "ESTALE the mount has left version 'v1'" "lookup stranger"
answers "ESTALE" "list"
assert_fails 1 "ESTALE" library-way mnt sums
hostile type
answers "EIO 'fifo' in the mount is of type 1" "list"
answers "EINVAL" "lookup fifo" "read $(((1 << 40) + 5))"
hostile link
answers "EXDEV 'out' leads out of the mount" "lookup out"
answers "EXDEV" "lookup out/etc/passwd"
answers "EXDEV" "lookup absolute/etc/passwd"
hostile loop
assert_fails 1 "EIO: the mount has directory $(((1 << 40) + 3)) in directory $(((1 << 40) + 3))" library-way mnt sums
answers "E" "read $(((1 << 40) + 7))"
hostile fickle
assert_fails 1 "E" library-tree mnt ids
hostile grows
answers "EIO a file of" "contents file"
hostile outside
answers "v1 3 1 DSFS_OPEN_MOUNT" "info"
answers "ENOENT" "lookup etc"
say "lies"

# A listing without an end takes as much memory as a process is given. Sanitizers need all there is.
if [[ $DATASETFS_BUILD != *asan* ]]; then
    hostile endless
    (ulimit -v 600000; answers "ENOMEM" "read $(((1 << 40) + 900))") || fail "an endless listing"
    say "a listing without an end"
fi
fusermount3 -u -z mnt
