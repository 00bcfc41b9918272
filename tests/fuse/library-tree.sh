#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# libdatasetfs gives the names and attributes that the kernel gives for a mount of the same version: every entry of a
# tree with everything in it, paths of all kinds, and the entries that another user may see.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/library.sh"
need_fuse

options=(--no-special --no-huge)
[ "$(id -u)" = 0 ] || options+=(--plain-owners)
tree nasty source "${options[@]}"
tree_of_links source/ways
pack volume source --label first
tree_of_links tree
pack volume tree --label second

say "every entry of a walk, and all of stat"
mount_volume volume mnt -o version=first
VERSION=first library_tree volume walk >walk
python3 "$LIB/library_tree.py" walk mnt --mount <walk || fail "the walk is not as the mount"
VERSION=first library_tree volume walk ways >walk
python3 "$LIB/library_tree.py" walk mnt/ways --mount <walk || fail "the walk of 'ways' is not as the mount"
while read -r directory; do
    VERSION=first library_tree volume list "$directory" | tr '\0\n' '\n?' | sed -n '2~3p' >listed
    find "mnt/$directory" -mindepth 1 -maxdepth 1 -printf '%f\0' | tr '\0\n' '\n?' >found
    cmp listed found || fail "the list of '$directory' is not as the mount's"
done < <(cd mnt && find . -type d ! -name $'*\n*' -readable -printf '%P\n' | awk 'length < 3000' | head -n 40)
unmount mnt
# setuid and setgid bits, which only this mount shows
mount_volume volume mnt -o version=first,suid
! is_root || WAY=direct library_tree mnt range >/dev/null || fail "root has no way past the mount"
library_tree mnt walk >walk
python3 "$LIB/library_tree.py" walk mnt --mount <walk || fail "the walk by a mount with suid is not as the mount"
unmount mnt

say "paths of all kinds"
paths_of_links >paths
mount_volume volume mnt
for where in volume mnt; do
    library_tree $where lookup <paths >found
    python3 "$LIB/library_tree.py" lookup mnt paths <found || fail "paths of $where do not lead where the kernel goes"
done
assert_eq "the mount's own directory" "$(printf '.datasetfs\0.datasetfs/version\0to-control\0' |
    library_tree volume lookup | paste -sd ' ')" "ENOENT ENOENT ENOENT"
unmount mnt

is_root || skip "no other user to ask: the rest was not tested"
say "what another user may see"
mkdir -p open/{all,search,list,none}/{below,file-in} open/none/below/deep
for folder in all search list none; do
    echo x >open/$folder/file
    echo x >open/$folder/below/file
    ln -s ../all/file open/$folder/link
    ln -s ../$folder/below/file open/all/to-$folder
done
mkdir open/{group,owner,supplementary}
touch open/{group,owner,supplementary}/file
chmod 755 open open/all
chmod 711 open/search
chmod 744 open/list
chmod 700 open/none
chgrp 65534 open/group && chmod 750 open/group
chown 65534 open/owner && chmod 077 open/owner
chgrp 4242 open/supplementary && chmod 750 open/supplementary
pack volume open --label third
chmod 644 volume
chmod 755 .
mount_volume volume mnt
(cd open && find . -printf '%P\0%P/\0%P/.\0%P/..\0%P/../all/file\0%P/missing\0') >paths

# as OPTIONS… : of setpriv; every path as root, and as that user
as() {
    setpriv "$@" -- "$DATASETFS_BUILD/tests/library/library-tree" volume lookup <paths >found
    setpriv "$@" -- python3 "$LIB/library_tree.py" lookup mnt paths <found || fail "paths are not as the mount for $*"
    grep -c EACCES found || true
}

none=(--clear-groups --bounding-set=-all --inh-caps=-all)
assert_eq "refusals of root" "$(as --clear-groups)" 0
[ "$(as --reuid 65534 --regid 65534 "${none[@]}")" -gt 20 ] || fail "hardly anything was refused"
as --reuid 65534 --regid 65534 --groups 1,4242 --bounding-set=-all --inh-caps=-all
as --reuid 65534 --regid 4242 "${none[@]}"
as --reuid 1234 --regid 1234 "${none[@]}"
# root without capabilities is the owner and no more
as --clear-groups --bounding-set=-all --inh-caps=-all

for folder in all search list none group owner; do
    rc=0
    as_user ls -U mnt/$folder >expected 2>/dev/null || rc=$?
    if [ $rc = 0 ] || [ $folder = list ]; then
        as_user "$DATASETFS_BUILD/tests/library/library-tree" volume list $folder | tr '\0' '\n' | sed -n '2~3p' >found
        cmp found expected || fail "the list of $folder"
    else
        assert_fails 1 "EACCES" as_user "$DATASETFS_BUILD/tests/library/library-tree" volume list $folder
        assert_fails 1 "EACCES" as_user "$DATASETFS_BUILD/tests/library/library-tree" volume walk $folder
        assert_fails 1 "EACCES" as_user "$DATASETFS_BUILD/tests/library/library-tree" volume range $folder
    fi
done
assert_fails 1 "EACCES: 'below': inode" as_user "$DATASETFS_BUILD/tests/library/library-tree" volume walk list
unmount mnt
