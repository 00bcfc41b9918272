#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain
# The mount of an ordinary user: his socket is in his runtime directory, or in a folder of his in /tmp, and he reads
# past it. Where there is no place for a socket the mount serves all the same and says why.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/client.sh"
need_fuse
need_root
need_command fusermount3
[ -e /etc/mtab ] || skip "no /etc/mtab, which fusermount3 reads"
[ -u "$(command -v fusermount3)" ] || skip "fusermount3 is not setuid here"
chmod 777 .
(as_user sh -c 'exec 3<>/dev/fuse') 2>/dev/null || {
    mode=$(stat -c %a /dev/fuse)
    chmod 666 /dev/fuse 2>/dev/null || skip "/dev/fuse is root's alone"
    at_exit chmod "$mode" /dev/fuse
}

mkdir bin source mnt runtime other
programs=$PWD/bin
cp "$(command -v datasetfs)" "$(command -v datasetfsctl)" "$DATASETFS_BUILD/tests/library/library-client" bin/
export CLIENT_PROGRAM=$programs/library-client
for i in {1..20}; do head -c $((i * 3000)) /dev/urandom >source/$i; done
pack volume source --label v1
chmod 644 volume
chown 65534 mnt runtime
chmod 700 runtime
as_nobody() {
    setpriv --reuid 65534 --regid 65534 --clear-groups env PATH="$programs:$PATH" HOME="$PWD" \
        XDG_RUNTIME_DIR="${RUNTIME-$PWD/runtime}" "$@"
}

mount_as_nobody() {
    as_nobody datasetfs volume mnt >mount.log 2>&1 || fail "mounting as nobody: $(cat mount.log)"
}
at_exit fusermount3 -u -z mnt

mount_as_nobody
path=$(as_nobody cat mnt/.datasetfs/client | json socket)
assert_eq "the folder of the socket" "$(dirname "$path")" "$PWD/runtime/datasetfs"
assert_eq "its owner" "$(stat -c %u "$path")" 65534
client he setpriv --reuid 65534 --regid 65534 --clear-groups
told he "open mnt direct" "direct v1"
told he "compare source" "20 right, 0 failed"
cat >probe.py <<'CODE'
import socket, sys
peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
peer.connect(sys.argv[1])
print(peer.recv(4096)[24:].split(b"\0")[0].decode())
CODE
assert_eq "root at his socket" "$(python3 probe.py "$path")" ""
as_nobody fusermount3 -u mnt
wait_for 10 test ! -e "$path" || fail "the socket is still there"

say "no runtime directory, as after su(1) and in batch jobs, or one that others can change"
mkdir open
mkdir -m 777 open/datasetfs
chown -R 65534 open
before=$(find /tmp -maxdepth 1 -name 'datasetfs-65534-*')
for RUNTIME in "$PWD/other" "$PWD/none" "$PWD/$(printf '%090d' 0)" "$PWD/open"; do
    mount_as_nobody
    ! grep -q "no socket" mount.log || fail "what the mount says: $(cat mount.log)"
    path=$(as_nobody cat mnt/.datasetfs/client | json socket)
    folder=$(dirname "$path")
    [[ $folder == /tmp/datasetfs-65534-?????? ]] || fail "the socket with '$RUNTIME': '$path'"
    [ -n "$before" ] || at_exit rmdir "$folder"
    before=$folder
    assert_eq "its folder" "$(stat -c '%u %a' "$folder")" "65534 755"
    told he "open mnt direct" "direct v1"
    told he "compare source" "20 right, 0 failed"
    told he close closed
    as_nobody fusermount3 -u mnt
    wait_for 10 test ! -e "$path" || fail "the socket is still there"
done
assert_eq "folders" "$(find /tmp -maxdepth 1 -name 'datasetfs-65534-*')" "$folder"

say "no place for a socket"
cat >inside.sh <<'CODE'
mount -t tmpfs -o ro none /tmp
as="setpriv --reuid 65534 --regid 65534 --clear-groups env XDG_RUNTIME_DIR=$PWD/other"
$as datasetfs volume mnt >mount.log 2>&1 && $as cat mnt/.datasetfs/client >client.json &&
    $as datasetfsctl status mnt >status.log && cmp source/7 <($as cat mnt/7)
code=$?
$as fusermount3 -u mnt
exit $code
CODE
PATH=$programs:$PATH unshare -m bash inside.sh || fail "without a place: $(cat mount.log)"
assert_eq "the socket" "$(json socket client.json)" ""
why="cannot make '$PWD/other/datasetfs': Permission denied"
assert_contains "why" "$(json reason client.json)" "$why"
assert_contains "status" "$(cat status.log)" "no program can read, as there is no socket: $why"
assert_contains "at the mount" "$(cat mount.log)" "programs cannot read past the mount, as there is no socket: $why"
end_client he
