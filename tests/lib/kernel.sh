# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Mounts that the kernel serves by itself: compares them with ours, and ends what is left of them.

# need_kernel_mounts: for tests that mount by the kernel and look at all records of such mounts
need_kernel_mounts() {
    need_root
    own_machine
    need_loop
    need_mount
    need_filesystem erofs
}

# kernel_end MOUNTPOINT: for clean-up only
kernel_end() {
    ! is_mounted "$1" || umount --lazy "$1"
}

# loops_of FILE: loop devices of a file
loops_of() {
    losetup --noheadings --output NAME --associated "$1"
}

has_no_loops() {
    [ -z "$(loops_of "$1")" ]
}

# kernel_mount VOLUME [OPTIONS…]: datasetfs -o kernel on 'theirs'
kernel_mount() {
    mkdir -p theirs
    at_exit kernel_end theirs
    datasetfs -o kernel "${@:2}" "$1" theirs 2>kernel.log || fail "-o kernel: $(cat kernel.log)"
    assert_contains "what it says" "$(cat kernel.log)" "the kernel serves '$PWD/theirs': version "
    assert_contains "what it is worth" "$(cat kernel.log)" "nothing is verified"
}

# views_agree: the mounts 'ours' and 'theirs' show the same
views_agree() {
    compare ours theirs --ignore holes,inodes
    compare theirs ours --ignore holes,inodes
    python3 "$DATASETFS_SOURCE/tests/fuse/kernel_view.py" ours theirs || fail "the views differ"
}

# kernel_images: how many images are in memory, mounted or not, of the volumes of this test
kernel_images() {
    losetup --noheadings --output BACK-FILE | grep -c "datasetfs-erofs .* $PWD/" || true
}

kernel_has_images() {
    [ "$(kernel_images)" = "$1" ]
}

# kernel_records: the files of what is known of mounts by the kernel; only on own_machine
kernel_records() {
    find /run/datasetfs/kernel -type f | sort
}
