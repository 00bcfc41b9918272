#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon channels in=asan
# The line in /proc/mounts; mount(8) and the helper; lines of fstab, the manual's too; status and version files; statfs.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_loop
need_command lsblk

mkdir source mnt
echo hello >source/file
pack volume source --label first
echo changed >source/file
pack volume source --label second
pack elsewhere source --label first

# field N: of our line in /proc/mounts
field() {
    awk -v at="$PWD/mnt" -v n="$1" '$2 == at { print $n }' /proc/mounts
}

mount_volume volume mnt
assert_eq "source" "$(field 1)" "$PWD/volume"
assert_eq "type" "$(field 3)" fuse.datasetfs
for option in ro nosuid nodev default_permissions allow_other; do
    [[ ",$(field 4)," == *",$option,"* ]] || fail "no '$option' in $(field 4)"
done
assert_eq "content of the current version" "$(cat mnt/file)" changed
assert_eq "label" "$(json label mnt/.datasetfs/version)" second
[ "$(find mnt -maxdepth 1 -name '.datasetfs' | wc -l)" = 0 ] || fail ".datasetfs is listed"
assert_eq "longest name by statfs" "$(stat -f -c %l mnt)" 255
assert_eq "free space" "$(stat -f -c '%f %a' mnt)" "0 0"
unmount mnt

mount_volume volume mnt -o version=first
assert_eq "content of the pinned version" "$(cat mnt/file)" hello
assert_contains "source of a pinned mount" "$(field 1)" "first"
assert_contains "source of a pinned mount" "$(field 1)" "$PWD/volume"
unmount mnt

# The manual's line names a namespace: here it is a loop device of a recorded host.
loop_device volume
sysfs_tree sys
sysfs_namespace sys "$LOOP"
sed -n 's/\\-/-/g; /^ *nvme:uuid:.* datasetfs /p' "$DATASETFS_SOURCE/man/datasetfs-nvme.7" >manual.fstab
[ "$(wc -l <manual.fstab)" = 1 ] || fail "not one line of fstab in datasetfs-nvme(7): $(cat manual.fstab)"

# mount(8) looks for the helper in /sbin: give it one in a mount namespace of our own.
[ "$(readlink "$DATASETFS_BUILD/root/sbin/mount.datasetfs")" = /usr/bin/datasetfs ] ||
    fail "no /sbin/mount.datasetfs was installed"
helper=$(command -v datasetfs)
head -c 2000000 /dev/zero >zeros
cat >inside.sh <<'END'
set -e
mkdir work
if [ ! -e /sbin/mount.datasetfs ]; then
    mount -t tmpfs none work
    mkdir work/upper work/work
    sbin=$(readlink -f /sbin)
    mount -t overlay overlay -o "lowerdir=$sbin,upperdir=work/upper,workdir=work/work" "$sbin"
    : >/sbin/mount.datasetfs
    chmod 755 /sbin/mount.datasetfs
fi
mount --bind "$1" "$(readlink -f /sbin)/mount.datasetfs"

# The system's own mount and umount, not one from PATH.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t datasetfs volume mnt -o version=first,noauto,nofail,_netdev,noatime
[ "$(cat mnt/file)" = hello ] || { echo "fail: content through mount -t"; exit 1; }
grep -q "$PWD/mnt fuse.datasetfs ro," /proc/mounts || { echo "fail: $(grep mnt /proc/mounts)"; exit 1; }
umount mnt

printf '%s %s datasetfs ro,_netdev,nofail,nosuid,nodev,allow_other 0 0\n' "$PWD/volume" "$PWD/mnt" >fstab
mount -T fstab "$PWD/mnt"
[ "$(cat mnt/file)" = changed ] || { echo "fail: content through fstab"; exit 1; }
umount "$PWD/mnt"

# Without a word nosuid, whatever 'defaults' means elsewhere. mount(8) keeps suid to itself, so there is a word for it.
for options in defaults,noauto:nosuid ro,allow_suid,nodev:suid; do
    printf '%s %s datasetfs %s 0 0\n' "$PWD/volume" "$PWD/mnt" "${options%:*}" >fstab
    mount -T fstab "$PWD/mnt"
    found=$(awk -v at="$PWD/mnt" '$2 == at { print $4 ~ /(^|,)nosuid(,|$)/ ? "nosuid" : "suid" }' /proc/mounts)
    [ "$found" = "${options#*:}" ] || { echo "fail: $found with ${options%:*} in fstab"; exit 1; }
    umount "$PWD/mnt"
done

# mount -a, again and again: what is there stays, anything else at that place is refused.
for options in ro version=first version=first,kernel kernel; do
    printf '%s %s datasetfs %s 0 0\n' "$PWD/volume" "$PWD/mnt" "$options" >fstab
    mount -a -T fstab
    before=$(grep -F " $PWD/mnt " /proc/self/mountinfo)
    mount -a -T fstab 2>again.err || { echo "fail: mount -a again with '$options': $(cat again.err)"; exit 1; }
    [ "$(grep -F " $PWD/mnt " /proc/self/mountinfo)" = "$before" ] ||
        { echo "fail: '$options': another mount"; exit 1; }
    for other in "volume version=third" "elsewhere version=first" "elsewhere ro"; do
        rc=0
        mount.datasetfs ${other% *} mnt -o "${other#* }" 2>again.err || rc=$?
        [ $rc = 32 ] && grep -q "already: 'umount" again.err ||
            { echo "fail: '$other' over '$options': status $rc: $(cat again.err)"; exit 1; }
    done
    umount mnt
done

mount -t tmpfs none /mnt
mkdir /mnt/train
DATASETFS_SYSFS=$PWD/sys mount -a -T manual.fstab
[ "$(cat /mnt/train/file)" = changed ] || { echo "fail: content through the manual's line of fstab"; exit 1; }
umount /mnt/train
umount /mnt

rc=0
mount -t datasetfs missing-volume mnt 2>helper.err || rc=$?
[ $rc = 32 ] || { echo "fail: status $rc instead of 32 for a missing volume: $(cat helper.err)"; exit 1; }
grep -q missing-volume helper.err || { echo "fail: no reason: $(cat helper.err)"; exit 1; }

rc=0
mount -t datasetfs volume mnt -o no_such_option 2>helper.err || rc=$?
[ $rc != 0 ] && grep -q no_such_option helper.err || { echo "fail: status $rc: $(cat helper.err)"; exit 1; }

# The helper by itself: -n and -v and -f as mount(8) passes them.
mount.datasetfs volume mnt -n -v -o ro || { echo "fail: helper -n -v"; exit 1; }
umount mnt
mount.datasetfs volume mnt -f -o ro || { echo "fail: helper -f"; exit 1; }
! mountpoint -q mnt || { echo "fail: -f is a rehearsal, but it mounted"; exit 1; }
# rehearse STATUS MESSAGE VOLUME OPTIONS: and nothing is mounted
rehearse() {
    rc=0
    mount.datasetfs "$3" mnt -f -o "$4" 2>helper.err || rc=$?
    [ $rc = "$1" ] && grep -qF "$2" helper.err ||
        { echo "fail: -f $3 -o $4: status $rc instead of $1: $(cat helper.err)"; exit 1; }
    ! mountpoint -q mnt || { echo "fail: -f $3 -o $4 mounted"; exit 1; }
}
rehearse 32 "missing-volume" "$PWD/missing-volume" ro
rehearse 32 "'nowhere'" volume version=nowhere
rehearse 32 "no version has the digest sha256:0000" volume digest=sha256:$(printf '0%.0s' {1..64})
rehearse 32 "zeros" zeros ro
rc=0
mount.datasetfs volume mnt -s -o ro,no_such_option 2>helper.err || rc=$?
[ $rc = 1 ] || { echo "fail: status $rc instead of 1 for an unknown option: $(cat helper.err)"; exit 1; }
rc=0
mount.datasetfs volume 2>helper.err || rc=$?
[ $rc = 1 ] || { echo "fail: status $rc instead of 1 without a mountpoint: $(cat helper.err)"; exit 1; }
END
"$LIB/mount-namespace" bash inside.sh "$helper" || fail "mount(8)"
