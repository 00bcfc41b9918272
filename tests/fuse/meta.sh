#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan queue=loops
# Metadata of a version on mounts: attributes of the root and .datasetfs/version, through switches, visits and a
# successor of the server; under trust=; and where the kernel's EROFS serves.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/kernel.sh"
need_fuse

# attributes DIRECTORY: names and values, but for the one by which an EROFS says what version it is
attributes() {
    python3 -c 'import os, sys
for name in sorted(os.listxattr(sys.argv[1])):
    if name != "user.datasetfs-version": print(name, ascii(os.getxattr(sys.argv[1], name).decode()))' "$1"
}

# version: what the mount says of the version's metadata
version() {
    json meta mnt/.datasetfs/version
}

# shows MEASURED ATTRIBUTES JSON
shows() {
    assert_eq "attributes $1" "$(attributes mnt)" "$2"
    assert_eq "version $1" "$(version)" "$3"
}

mkdir source
echo content >source/file
one="user.datasetfs.description 'na\\xefve'
user.datasetfs.licence 'MIT'"
pack volume source --label one --meta licence=MIT --meta description=naïve
pack volume source --label two --meta licence=CC0-1.0 --no-current
pack volume source --label none --no-current
mount_volume volume mnt
shows "at first" "$one" '{"description": "na\u00efve", "licence": "MIT"}'
assert_eq "of a file" "$(attributes mnt/file)" ""
datasetfsctl switch mnt two >/dev/null
shows "after a switch" "user.datasetfs.licence 'CC0-1.0'" '{"licence": "CC0-1.0"}'
assert_eq "of a visited version" "$(attributes mnt/.datasetfs/versions/one)" "$one"
datasetfsctl switch mnt none >/dev/null
shows "of a version without" "" '{}'
! grep -q '"meta"' mnt/.datasetfs/versions.json || fail "versions.json has what it does not know"
assert_eq "describe" "$(datasetfsctl describe --json mnt | json version.meta)" '{}'
assert_eq "list" "$(datasetfsctl list --json --verbose mnt | json versions.1.meta)" '{"licence": "CC0-1.0"}'

say "a successor of the server"
datasetfsctl switch mnt one >/dev/null
exec 7<mnt/.datasetfs/version
kill_server mnt
assert_eq "a snapshot that was open" "$(json meta.licence <&7)" MIT
exec 7<&-
shows "of a successor" "$one" '{"description": "na\u00efve", "licence": "MIT"}'
unmount mnt

say "all that there is room for"
long=$(head -c 65000 /dev/zero | tr '\0' '"')
pack volume source --label long --meta "quotes=$long"
mount_volume volume mnt
assert_eq "length" "$(version | wc -c) $(attributes mnt | wc -c)" "130015 65025"
unmount mnt

say "hostile metadata"
pack volume source --label hostile --meta description=XX31mX
"$DATASETFS_BUILD/tests/format/forge" volume index XX31mX $'\xc2\x9b31m\a' || fail "forge"
mount_volume volume mnt
assert_eq "version" "$(version)" '{"description": "\u009b31m\u0007"}'
datasetfsctl status --json mnt >out
assert_eq "status --json" "$(json version.meta out)" '{"description": "\u009b31m\u0007"}'
! LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f-\xff]' out mnt/.datasetfs/version || fail "JSON has control characters"
unmount mnt

if command -v ssh-keygen >/dev/null; then
    say "a mount with trust= serves it, or no other"
    chmod go-w .
    ssh-keygen -q -t ed25519 -N '' -C alice -f alice
    echo "alice $(cut -d' ' -f1,2 alice.pub)" >signers
    pack volume source --label signed --sign alice --meta licence=MIT
    mount_volume volume mnt -o "trust=$PWD/signers"
    shows "under trust=" "user.datasetfs.licence 'MIT'" '{"licence": "MIT"}'
    unmount mnt
    "$DATASETFS_BUILD/tests/format/forge" volume index licence Licence || fail "forge"
    assert_fails 32 "digest" datasetfs -o "trust=$PWD/signers" volume mnt
fi

need_root
need_loop
need_mount
need_filesystem erofs
say "where the kernel serves"
datasetfsctl current volume one
kernel_mount volume
assert_eq "-o kernel" "$(attributes theirs)" "$one"
umount theirs
datasetfsctl export erofs volume one image >/dev/null
mkdir -p theirs
loop_device volume -r
mount -t erofs -o "loop,ro,device=$LOOP" image theirs
assert_eq "an exported image" "$(attributes theirs)" "$one"
umount theirs
