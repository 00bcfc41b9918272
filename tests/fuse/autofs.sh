#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once in=none timeout=1200
# The recipe of contrib/CLUSTER.md for autofs, with Debian's automount on a machine of its own: a directory shows its
# data set to whoever enters it, a version by its label, and goes when nobody uses it.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$DATASETFS_SOURCE/tests/lib/fresh_root.sh"
. "$DATASETFS_SOURCE/tests/lib/machine.sh"
need_root
need_fuse
need_filesystem autofs
need_command debootstrap ip nsenter pivot_root
need_space 1500
root=$PWD/root

say "a machine with autofs"
fresh_root "$root"
fresh_root_enter "$root"
fresh_root_install autofs procps "libblkid1, libfuse3-3, liblmdb0, libnvme1, libssl3, liburing2,
    libxxhash0, libzstd1, libarchive13, libexpat1, libjson-c5, libncursesw6"
umount "$root/sys" "$root/proc"
tar -C "$DATASETFS_BUILD/root" -cf - . | tar -C "$root" --keep-directory-symlink -xf -
python3 - "$DATASETFS_SOURCE/contrib/CLUSTER.md" "$root" <<'END_PYTHON'
import os, re, sys
found = re.findall(r"^`(/[^`]+)`(, executable)?:\n\n```\n(.*?)^```", open(sys.argv[1]).read(), re.M | re.S)
assert [path for path, *_ in found] == ["/sbin/mount.dataset", "/etc/auto.master.d/datasets.autofs",
                                       "/etc/auto.datasets"], found
for path, executable, text in found:
    os.makedirs(os.path.dirname(sys.argv[2] + path), exist_ok=True)
    open(sys.argv[2] + path, "w").write(text)
    os.chmod(sys.argv[2] + path, 0o755 if executable else 0o644)
END_PYTHON
mkdir source
for i in {1..50}; do echo "file $i" >"source/$i"; done
pack train source --label v1
echo new >source/new
pack train source --label v2
mkdir -p "$root"/{etc/datasetfs,srv,datasets}
cp train "$root/srv/train.dsfs"
echo "train /srv/train.dsfs" >"$root/etc/datasetfs/datasets.conf"
machine_begin "$root"
# By its process group, which has to be of the machine, the kernel knows who may look at what is not mounted yet.
machine setsid automount --foreground >automount.log 2>&1 &
is_automounted() { machine grep -q ' /datasets autofs ' /proc/mounts; }
wait_for 60 is_automounted || fail "no automount: $(cat automount.log)"

say "a directory shows its data set"
assert_eq "content" "$(machine timeout 60 cat /datasets/train/new)" new
assert_eq "v1" "$(machine timeout 60 ls /datasets/train@v1 | wc -l)" 50
assert_eq "mounts" "$(machine datasetfsctl attached | grep -c "^'")" 2
assert_eq "places" "$(machine datasetfsctl attached | grep -c "^  '/datasets/")" 2
for name in web train@v9; do
    ! machine timeout 60 ls /datasets/$name >/dev/null 2>said || fail "/datasets/$name is there"
    assert_contains "$name" "$(cat said)" "No such file or directory"
done

say "automount lets go of it, and the mount ends"
machine pkill -USR1 -x automount # what nobody uses, now
no_place() { ! machine datasetfsctl attached | grep -q "^  '/datasets/"; }
wait_for 60 no_place || fail "still there: $(machine datasetfsctl attached; cat automount.log)"
machine datasetfsctl detach --ended
nothing_is_left() {
    [ -z "$(machine ls -A /run/datasetfs/attach)" ] && ! machine pgrep -x datasetfs >/dev/null
}
wait_for 60 nothing_is_left || fail "left: $(machine datasetfsctl attached)"
assert_eq "again" "$(machine timeout 60 cat /datasets/train/new)" new
machine pkill -x automount
wait_for 60 eval '! machine pgrep -x automount >/dev/null' || fail "automount stays: $(cat automount.log)"
