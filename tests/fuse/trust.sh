#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon
# A mount with trust= serves, switches to, follows and lets visitors into versions that somebody in its file has signed,
# and no others; a successor of its server does the same.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_command ssh-keygen

for who in alice mallory; do
    ssh-keygen -q -t ed25519 -N '' -C "$who" -f "$who"
done
chmod go-w .
echo "alice $(cut -d' ' -f1,2 alice.pub)" >signers
mkdir source mnt
pack_at() { local date=$1; shift; echo "$1" >source/file; SOURCE_DATE_EPOCH=$date pack volume source --label "$@"; }

pack_at 1700000000 old --sign alice
pack_at 1800000000 new --sign alice
pack_at 1900000000 unsigned --no-current
pack_at 1900000000 stranger --no-current --sign mallory
assert_fails 32 "is not signed" datasetfs -o version=unsigned,trust="$PWD/signers" volume mnt
mount_volume volume mnt -o trust="$PWD/signers"
assert_eq "signer" "$(stats mnt signer)" alice

refuses() {
    for label in unsigned stranger; do
        assert_fails 1 "is not trusted" datasetfsctl switch mnt "$label"
        ! ls "mnt/.datasetfs/versions/$label" 2>/dev/null || fail "a visitor sees '$label'"
    done
    assert_eq "content" "$(<mnt/file)" new
}
# reads WHERE VERSION: what the library gives of it, by Python, to somebody who trusts alice
reads() {
    PYTHONPATH=$DATASETFS_BUILD/root/usr/share/datasetfs/python python3 -c "
import sys
import datasetfs
try:
    print(datasetfs.Reader(sys.argv[1], sys.argv[2], trust=sys.argv[3]).read('file').decode(), end='')
except OSError as error:
    sys.exit(str(error))" "$1" "$2" "$PWD/signers"
}
refuses
if [ -z "${DATASETFS_SANITIZER:-}" ]; then # which python3 would have to load first
    for where in volume mnt; do
        assert_eq "the library reads $where" "$(reads $where new)" new
        assert_fails 1 "is not trusted" reads $where stranger
    done
fi
kill_server mnt
refuses
assert_eq "signer of the successor's version" "$(stats mnt signer)" alice
datasetfsctl switch mnt old
assert_eq "content" "$(<mnt/file)" old

# following goes to no older date and to nothing unsigned, and goes on when there is something newer
datasetfsctl switch mnt new
unmount mnt
mount_volume volume mnt -o trust="$PWD/signers",follow=current:1
datasetfsctl current volume old
wait_for 20 grep -qE '^datasetfs_switch_pending(\{.*\})? 1$' mnt/.datasetfs/metrics
assert_eq "content" "$(<mnt/file)" new
pack_at 1850000000 newer --sign alice
wait_for 20 grep -qx newer mnt/file
