#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=gcc queue=loops
# A mount that the kernel serves says which version it is, to every user, before and after a switch; a copy of it, with
# all attributes, does not count, and what is packed from it is the same version.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/kernel.sh"
need_fuse
need_kernel_mounts
need_command getfattr python3

# attribute NAME MOUNT: its value
attribute() {
    getfattr --absolute-names --only-values -n "user.$1" "$2"
}

# in_python MOUNT [COMMAND…]: who serves it, and the label, as the package says to COMMAND
in_python() {
    PYTHONPATH=$DATASETFS_SOURCE/contrib/python "${@:2}" python3 -c '
import sys
from datasetfs import Mount
mount = Mount(sys.argv[1])
try:
    print("kernel" if mount.is_by_kernel else "daemon", mount.version["label"])
except FileNotFoundError:
    print("no mount")
except PermissionError:
    print("no permission")' "$1"
}

# is_version NUMBER: of the volume, by what the mount says
is_version() {
    local field
    attribute datasetfs-version theirs >version
    datasetfsctl list --json volume >list
    for field in label uuid digest sequence; do
        assert_eq "$field of the mount" "$(json $field version)" "$(json "versions.$1.$field" list)"
    done
    assert_eq "the package" "$(in_python theirs)" "kernel $(json label version)"
}

mkdir source
echo content >source/file
setfattr -n user.own -v "of the source" source 2>/dev/null || skip "no user attributes here"
pack volume source --label v1
python3 - <<'END'
import tarfile
with tarfile.open("many.tar", "w", format=tarfile.PAX_FORMAT) as archive: # more than an inode of EROFS can share
    root = tarfile.TarInfo("./")
    root.type, root.mode = tarfile.DIRTYPE, 0o755
    root.pax_headers = {f"SCHILY.xattr.user.name{i}": "x" for i in range(300)}
    archive.addfile(root)
END
pack volume many.tar --label v2 --no-current --allow-empty

kernel_mount volume
is_version 0
assert_eq "files" "$(json files version) $(json bytes version) $(json sums version)" "1 8 xxh3-64"
chmod 755 .
as_user getfattr --absolute-names -n user.datasetfs-version theirs >seen || fail "a user cannot read it"
assert_eq "attributes of a file" "$(getfattr theirs/file)" ""
assert_eq "the root's own" "$(attribute own theirs)" "of the source"
compare source theirs
assert_eq "a listing" "$(find theirs | sort | xargs)" "theirs theirs/file"
datasetfsctl switch theirs v2 >/dev/null
is_version 1
assert_eq "how many the root has" "$(getfattr theirs | grep -c '^user')" 301
assert_eq "the last of them" "$(attribute name299 theirs)" x
say "versions"

datasetfsctl switch theirs v1 >/dev/null
is_version 0
pack again theirs
assert_eq "the digest of what is packed" "$(datasetfsctl list --json again | json versions.0.digest /dev/stdin)" \
    "$(json digest version)"
cp -a theirs copied
cmp <(attribute datasetfs-version copied) version || fail "cp does not copy attributes here"
assert_eq "a copy" "$(in_python copied)" "no mount"
mount_volume volume ours
assert_eq "a daemon's mount" "$(in_python ours)" "daemon v1"
unmount ours
say "copies"

need_python python3-fsspec fsspec
ln -s theirs linked
PYTHONPATH=$DATASETFS_BUILD/root/usr/share/datasetfs/python python3 - <<'END' || fail "fsspec"
import fsspec
import datasetfs

fs = fsspec.filesystem("datasetfs")
for path in ("theirs/file", "theirs", "theirs/none", "linked/file"):
    try:
        raise SystemExit(f"fail: {fs.info(path)}")
    except OSError as error:
        expected = "the kernel serves this mount: use the path without datasetfs://, or VOLUME@VERSION/…"
        assert error.strerror == expected, error
assert fs.cat("volume@v1/file") == b"content\n"
END
say "fsspec"

umount theirs
chmod 711 source
pack closed source --label closed
kernel_mount closed
assert_eq "a user who may not read the root" "$(in_python theirs as_user)" "no permission"
assert_eq "a directory that a user may not read" "$(in_python source as_user)" "no mount"
mount_volume closed ours
assert_eq "a daemon's root that a user may not read" "$(in_python ours as_user)" "daemon closed"
unmount ours
say "a closed root"
