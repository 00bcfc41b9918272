#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan,gcc:ring channels daemon
# Copies of a mount that are idmapped, as containers with a user namespace have them: only with the option idmap. Files
# have the owners that the mapping says. Who asks the daemon is found out by the process, and is judged as on any mount.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_root
need_mount
own_namespace

mkdir source mnt copy
echo content >source/file
echo secret >source/private
chmod 600 source/private
chmod 755 . "$DATASETFS_TEST_DIR"
pack volume source --label v1
echo new >source/new
pack volume source --label v2
version() { json label <"$1/.datasetfs/version"; }
idmapped() { python3 "$LIB/idmapped.py" "$@"; }
# as USER GROUPS COMMAND…
as() { setpriv --reuid "$1" --regid "$1" --groups "$2" --inh-caps=-all "${@:3}"; }

say "without the option the kernel refuses such copies, and says who asks"
mount_volume volume mnt -o version=v1,control_group=4711
assert_fails 1 "Invalid argument" idmapped mnt copy 100000
as 65534 4711 datasetfsctl switch mnt v2 >/dev/null
unmount mnt

mount_volume volume mnt -o version=v1,control_group=4711,idmap
said=$(idmapped mnt copy 100000 2>&1) || [ "$said" != "Invalid argument" ] ||
    skip "the kernel has no idmapped mounts of FUSE"
is_mounted copy || fail "no copy: $said"

say "owners are those of the mapping, and the kernel checks with them"
assert_eq "owners" "$(stat -c %u mnt/private copy/private | xargs)" "0 100000"
assert_eq "in the container" "$(idmapped --run 100000 stat -c %u copy/private mnt/private | xargs)" "0 65534"
assert_eq "its root" "$(idmapped --run 100000 cat copy/private)" secret
assert_fails 1 "Permission denied" idmapped --run 100000 cat mnt/private
assert_fails 1 "Permission denied" as 65534 65534 cat copy/private
cmp source/file copy/file
as 65534 65534 cmp source/file copy/file

say "who may switch, through the copy and through the mount"
refusal="only root with CAP_SYS_ADMIN and members of its control_group may switch this mount"
for place in copy mnt; do
    assert_eq "$place" "$(version $place)" v1
    assert_fails 1 "$refusal" as 65534 65534 datasetfsctl switch $place v2
    assert_fails 1 "$refusal" idmapped --run 100000 datasetfsctl switch $place v2
    assert_fails 1 "$refusal" idmapped --run 0 datasetfsctl switch $place v2
    assert_fails 1 "$refusal" setpriv --bounding-set=-sys_admin datasetfsctl switch $place v2
    as 65534 4711 datasetfsctl switch $place v2 >/dev/null
    setpriv --reuid 65534 --regid 4711 --clear-groups --inh-caps=-all datasetfsctl switch $place v1 >/dev/null
    datasetfsctl switch $place v2 >/dev/null
    assert_eq "$place" "$(idmapped --run 100000 cat $place/.datasetfs/version | json label)" v2
    cmp source/new $place/new
    datasetfsctl switch $place v1 >/dev/null
done

say "users have shares of their own"
cat >share.py <<'PYTHON'
import os
files = []
try:
    for i in range(257): files.append(os.open("copy/.datasetfs/stats.json", os.O_RDONLY))
except OSError as error:
    print(error.strerror, flush=True)
open("go").read()
PYTHON
mkfifo go
chmod 644 go
as 65534 65534 python3 share.py >said 2>&1 & one=$!
wait_for 20 grep -q . said || fail "the share does not end"
assert_eq "one user's share" "$(cat said)" "Disk quota exceeded"
as 65533 65533 cat copy/.datasetfs/stats.json >/dev/null || fail "another user's share is used up"
: >go
wait $one
umount copy
unmount mnt
