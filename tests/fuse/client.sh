#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan,tsan
# libdatasetfs past a mount: who gets the descriptors and who goes through the mount, a switch under readers, a daemon
# that ends, one that is killed, another one in its place, and what of all that is counted.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/client.sh"
need_fuse
need_root
chmod 777 .

for version in v1 v2; do
    mkdir -p $version/folder
    for i in {1..40}; do
        { echo "$version $i"; head -c $((i * 700)) /dev/urandom; } >$version/folder/$i
    done
    pack volume $version --label $version
done
datasetfsctl current volume v1 >/dev/null
files=40

socket() { json socket mnt/.datasetfs/client; }

say "who may have the descriptors"
mount_volume volume mnt -o direct_group=4343
[ -S "$(socket)" ] || fail "no socket: $(cat mnt/.datasetfs/client)"
assert_eq "its mode" "$(stat -c %a "$(socket)")" 666
assert_eq "its folder's mode" "$(stat -c %a "$(dirname "$(socket)")")" 755
# It does not change while the mount exists: the kernel knows the answer after the first look.
requests() { echo $(($(stats mnt requests.LOOKUP) + $(stats mnt requests.READ))); }
before=$(requests)
for _ in {1..20}; do cat mnt/.datasetfs/client >/dev/null; done
[ $(($(requests) - before)) -lt 20 ] || fail "requests for one answer 20 times: $(($(requests) - before))"
cp "$DATASETFS_BUILD/tests/library/library-client" client-program
export CLIENT_PROGRAM=$PWD/client-program
refused="only root with CAP_SYS_ADMIN and members of its direct_group '4343' may read past this mount"
unprivileged="$refused: root without that capability is no member"
refused+=": ask the administrator of this machine to add you to that group"
as_nobody() { setpriv --reuid 65534 --regid 65534 --bounding-set=-all --inh-caps=-all "$@"; }

client root
told root "open mnt" "direct v1"
told root "compare v1" "$files right, 0 failed"
told root "open mnt mount" "mount v1 DSFS_OPEN_MOUNT asks for the mount"
client weak setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin --groups 4343
told weak "open mnt" "mount v1 $unprivileged"
told weak "compare v1" "$files right, 0 failed"
told weak "open mnt direct" "EPERM 'mnt': $unprivileged"
told weak "open mnt" "mount v1 $unprivileged"
client nobody as_nobody --clear-groups
told nobody "open mnt/folder" "mount v1 $refused"
told nobody "compare v1" "$files right, 0 failed"
client primary setpriv --reuid 65534 --regid 4343 --clear-groups --bounding-set=-all --inh-caps=-all
told primary "open mnt" "direct v1"
client member as_nobody --groups 4242,4343
told member "open mnt" "direct v1"
told member "compare v1" "$files right, 0 failed"
told member "forked compare v1" "$files right, 0 failed"
# Daemons that start beside this test look whether the socket is dead, and are connected for a moment.
has_clients() { [ "$(stats mnt clients)" = "$1" ]; }
wait_for 10 has_clients 2 || fail "clients: $(stats mnt clients)"
assert_eq "refused" "$(stats mnt client_refused)" 4

say "versions"
told member "open mnt direct v2" "direct v2"
told member "compare v2" "$files right, 0 failed"
told_part member "open mnt direct v3" "ENOENT 'mnt': the volume has no version 'v3'"
told member "open mnt" "direct v1"

say "the program closes our descriptors"
told root "open mnt" "direct v1"
told root "closefrom 400" closed
told root "compare v1" "$files right, 0 failed"
told root "open mnt direct v1" "direct v1"
told root "closefrom 400" closed
told root "refresh" 0
told root "info" "direct v1"

say "switches"
told root "open mnt" "direct v1"
told root "readers 4 v1=v1 v2=v2" reading
told member "refresh" 0
datasetfsctl switch mnt v2 >/dev/null
told member "compare v1" "$files right, 0 failed"
told member "refresh" 1
told member "info" "direct v2"
told member "compare v2" "$files right, 0 failed"
told member "forked refresh" 0
told root "refresh" 1
for version in v1 v2 v1 v2; do
    datasetfsctl switch mnt $version >/dev/null
    told root "refresh" 1
    told root "info" "direct $version"
done
tell root stop
[[ $ANSWER =~ ^([0-9]+)\ right,\ 0\ failed ]] || fail "readers under switches: $ANSWER"
[ "${BASH_REMATCH[1]}" -gt 0 ] || fail "the readers read nothing"
told weak "refresh" 1
told weak "compare v2" "$files right, 0 failed"

say "what is counted"
told root "close" closed
told member "close" closed
wait_for 10 has_clients 1 || fail "clients: $(stats mnt clients)"
[ "$(stats mnt client_files)" -gt $((3 * files)) ] || fail "files: $(stats mnt client_files)"
[ "$(stats mnt client_bytes)" -gt $((3 * 40 * 41 / 2 * 700)) ] || fail "bytes: $(stats mnt client_bytes)"
assert_eq "failures" "$(stats mnt client_checksum_failures) $(stats mnt client_read_failures)" "0 0"

say "the daemon ends, with clients"
told root "open mnt direct" "direct v2"
told primary "open mnt" "direct v2"
path=$(socket)
told nobody "close" closed
told weak "close" closed
unmount mnt
[ ! -e "$path" ] || fail "the socket is still there"
told root "compare v2" "$files right, 0 failed"
told root "refresh" "ENOTCONN the daemon of the mount '$PWD/mnt' has ended and no mount is there: mount it again"
told weak "open mnt" "EINVAL 'mnt' is not on a datasetfs mount"
told root "compare v2" "$files right, 0 failed"

say "another daemon"
mount_volume volume mnt -o direct_group=4343,version=v2
told root "directory /" there
told root "refresh" 0
told root "directory $PWD" there
told root "refresh" 0
wait_for 10 has_clients 1 || fail "clients: $(stats mnt clients)"
told primary "refresh" 0

say "the daemon is killed"
path=$(socket)
told root "readers 4 v2=v2" reading
told primary "compare v2" "$files right, 0 failed"
kill_daemon || fail "it runs on"
told primary "compare v2" "$files right, 0 failed"
ended="has ended: unmount it and mount it again"
told primary "refresh" "ENOTCONN the daemon of the mount '$PWD/mnt' $ended"
for way in "" " direct" " mount"; do
    told weak "open mnt$way" "ENOTCONN the daemon of the mount 'mnt' $ended"
done
umount --lazy mnt
tell root stop
[[ $ANSWER =~ \ 0\ failed ]] || fail "readers whose daemon was killed: $ANSWER"
mount_volume volume mnt -o version=v1
[ ! -e "$path" ] || fail "the socket of the dead daemon is still there"
told root "refresh" 1
told root "info" "direct v1"
told_part primary "refresh" 1
told_part primary "info" "mount v1 only root with CAP_SYS_ADMIN may read past this mount: ask the administrator of \
this machine to mount it with direct_group=GROUP, or to add that to its line in /etc/datasetfs/datasets.conf"
told primary "compare v1" "$files right, 0 failed"

say "the socket is not to be seen, as in a container"
path=$(socket)
mv "$path" "$path.away"
told_part member "open mnt" "mount v1 no daemon of the mount at '$path': No such file or directory"
mv "$path.away" "$path"
told_part root "close" closed
told_part primary "close" closed
told_part member "close" closed
for name in root weak nobody primary member; do end_client $name; done
unmount mnt
