#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once
# The mount namespace of a test holds no mounts of others and shows its own to nobody;
# in a chroot too, where / is no mount point, and where mounts are shared.
. "$(dirname "$0")/../lib/common.sh"
need_mount

mkdir mine others new root
for where in mine others; do
    mount -t tmpfs none $where
    at_exit umount "$PWD/$where"
done

cat >inside.sh <<'END'
mountpoint -q mine || { echo "fail: a mount of its own is missing"; exit 1; }
! mountpoint -q others || { echo "fail: it holds a mount of another test"; exit 1; }
mount -t tmpfs none new || { echo "fail: nothing can be mounted"; exit 1; }
! grep -F "$PWD/new " /proc/$PPID/mountinfo || { echo "fail: its mount is seen outside"; exit 1; }
END
# For these the test is in 'mine', and 'others' is that of another one.
DATASETFS_TEST_DIR=$PWD/mine "$LIB/mount-namespace" bash inside.sh || fail "a mount namespace"
is_mounted others || fail "a mount of another test is gone"

# A chroot with the machine's folders.
cat >chroot.sh <<'END'
for path in /*; do
    [ -d "$path" ] && [ ! -L "$path" ] || continue
    mkdir -p "root$path"
    mount --rbind "$path" "root$path"
done
find / -maxdepth 1 -type l -exec cp -P {} root \;
mount --make-r$1 /
chroot root sh -c '! mountpoint -q /' || { echo "fail: the root of the chroot is a mount point"; exit 1; }
mountpoint -q "root$PWD/others" || { echo "fail: the mount of another test is not there"; exit 1; }
# The mounts that are kept are those of this shell's namespace, not those of the test.
DATASETFS_TEST_DIR=$PWD/mine chroot root sh -c 'cd "$1" && "$LIB/mount-namespace" bash inside.sh; exit $?' chroot "$PWD"
END
for propagation in private shared; do
    DATASETFS_TEST_DIR=$PWD "$LIB/mount-namespace" bash -e chroot.sh $propagation ||
        fail "a mount namespace in a chroot, mounts are $propagation"
done
