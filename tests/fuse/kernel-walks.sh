#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=gcc queue=loops
# Where a process follows the volume, the kernel reads the next files for programs that walk its mount, and only for
# these; the mount can be unmounted at any moment, and goes when it is.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/kernel.sh"
need_kernel_mounts
need_command python3
hold_caches # what was read ahead stays

python3 - <<'END'
import os
for folder in "abcde":
    os.makedirs(f"source/{folder}")
    for i in range(200):
        with open(f"source/{folder}/f{i:03}", "wb") as out:
            out.write(os.urandom(5000 + i * 50))
END
pack volume source
# walk WHAT
walk() {
    python3 "$DATASETFS_SOURCE/tests/fuse/kernel_walks.py" theirs "$1" || fail "walks: $1"
}

kernel_mount volume -o follow=current:1
follower=$(pgrep -o -x datasetfs)
end_process_at_exit "$follower"
walk several
say "walks"

echo new >source/new
for label in v2 v3; do
    tar -C theirs -cf - . | tar -xf - -O >/dev/null || fail "tar"
    command umount theirs || fail "a mount that was walked is busy"
    wait_for 10 kernel_has_images 0 || fail "the image stays: $(losetup)"
    wait_for 30 wait_end "$follower" || fail "the process stays"
    pack volume source --label $label
    kernel_mount volume -o follow=current:1
    follower=$(pgrep -o -x datasetfs)
    end_process_at_exit "$follower"
done
compare source theirs --ignore holes,inodes
umount theirs
wait_end "$follower"

truncate -s 64M another
loop_device another
pack "$LOOP" source --label before
kernel_mount another -o follow=current:600
follower=$(pgrep -o -x datasetfs)
kill "$follower"
wait_end "$follower"
pack "$LOOP" source --label after
datasetfsctl follow theirs 2>err & # its first look switches
follower=$!
end_process_at_exit $follower
wait_for 30 grep -q "version 'after'" err || fail "no switch: $(cat err)"
walk one
umount theirs
kill $follower
say "a walk after a switch"
