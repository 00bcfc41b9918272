#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# A hostile publisher signs what the packer never writes: such a version is neither mounted nor switched to nor read by
# the tools, a mount goes on with the version that it has, and the volume can be published to and rid of it.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_command setfattr
setfattr -n user.test -v value . 2>/dev/null || skip "no user attributes on this filesystem"

# forge FROM TO: in the index of the current version
forge() {
    "$DATASETFS_BUILD/tests/format/forge" volume index "$@" || fail "forge $*"
}

# refused REASON: the current version, bad, is, while a mount of the version good goes on
refused() {
    mkdir -p other
    assert_fails 32 "cannot mount 'volume' on 'other': $1" datasetfs volume other
    assert_fails 1 "$1" datasetfsctl switch mnt bad
    assert_fails 1 "$1" datasetfsctl dump volume bad
    assert_eq "what the mount serves" "$(json label mnt/.datasetfs/version) $(cat mnt/file)" "good content"
    [ ! -e mnt/.datasetfs/versions/bad ] || fail "it can be visited"
    assert_eq "what root lists" "$(ls -A mnt)" file
    pack volume source --label after
    datasetfsctl remove volume bad || fail "remove"
    datasetfsctl verify volume >/dev/null || fail "the volume without it"
    datasetfsctl current volume good || fail "current"
    datasetfsctl remove volume after || fail "remove"
}

mkdir source
echo content >source/file
pack volume source --label good
mount_volume volume mnt

say "the mount's own folder"
cp -r source tree
mkdir tree/.datasetfz
echo '{"label": "forged"}' >tree/.datasetfz/version
pack volume tree --label bad
forge .datasetfz .datasetfs
refused "names: the root has an entry '.datasetfs', which is the name of the mount's own directory"

say "an attribute that the kernel would believe"
for name in user.pability:security.capability user.x_acl_access:system.posix_acl_access \
    user.erlay.opaque:trusted.overlay.opaque; do
    from=${name%%:*} to=${name#*:}
    from=user.${from#user.}$(printf '%*s' $((${#to} - ${#from})) "" | tr ' ' x)
    rm -rf tree
    cp -r source tree
    setfattr -n "$from" -v value tree/file
    pack volume tree --label bad
    forge "$from" "$to"
    refused "xattr set at 8: '$to' is not a user attribute"
done

unmount mnt
