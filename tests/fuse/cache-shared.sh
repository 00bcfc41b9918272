#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan
# Mounts of one user that have the same folder in cache= share the index of a version: the second one reads nothing,
# neither from the volume nor from a copy, and both have the same memory. What is no daemon of the user, or has another
# version, or does not answer, lends nothing, and the copy is read.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

python3 "$LIB/small_files.py" source 7 300 2
pack volume source --label one
cp -r source second
echo "of the second version" >second/more
pack volume second --label two
datasetfsctl current volume one >/dev/null
mkdir -m 700 cache
cache=$PWD/cache
uuid=$(datasetfsctl list --json volume | json uuid)
bytes=$(datasetfsctl list --json volume | json versions.0.index.0.length)
two=$(datasetfsctl list --json volume | json versions.1.index.0.length)
offset=$(datasetfsctl list --json volume | json versions.0.index.0.offset)
dd if=volume of=index bs=4096 skip=$((offset / 4096)) count=$((bytes / 4096)) status=none
copy=$cache/$uuid/index/$(hash_of index) # of version one; it gets the name when it is whole

# mount_at NAME [OPTIONS]: on $PWD/NAME, its daemon in DAEMONS[NAME]
declare -A DAEMONS
mount_at() {
    mount_volume volume "$1" -o "cache=$cache${2:+,$2}"
    DAEMONS[$1]=$DAEMON
}
end() {
    DAEMON=${DAEMONS[$1]}
    unmount "$1"
}
# from MOUNT VOLUME COPY OTHERS: how many bytes of indexes it has from where
from() {
    assert_eq "$1: from the volume, copies, others" "$(stats "$1" index_read_bytes) $(stats "$1" index_copy_bytes) \
$(stats "$1" index_shared_bytes)" "$2 $3 $4"
}
# memory MOUNT: device and inode of the index in memory
memory() {
    awk '/datasetfs-index/ { print $4, $5 }' "/proc/$(server_of "${DAEMONS[$1]}")/maps" | sort -u
}
# away: the volume has no index of version one, and there is no copy
away() {
    wait_for 20 test -e "$copy" || fail "no copy: $(ls -lR cache)"
    rm -f "cache/$uuid/index/"*
    cp volume whole
    dd if=/dev/zero of=volume bs=4096 conv=notrunc status=none count=$((bytes / 4096)) seek=$((offset / 4096))
}
# announced COUNT: so many mounts are in the folder
announced() {
    [ "$(find "cache/$uuid/mounts" -type l 2>/dev/null | wc -l)" = "$1" ]
}

say "a second mount"
mount_at first
from first "$bytes" 0 0
wait_for 20 announced 1 || fail "the first mount is not in the folder: $(ls -lR cache)"
away
mount_at again
from again 0 0 "$bytes"
compare source again
assert_eq "the index in memory" "$(memory again)" "$(memory first)"
wait_for 20 announced 2
wait_for 20 test -e "$copy" || fail "the second one does not make the copy anew: $(ls -lR cache)"
rm -f "cache/$uuid/index/"*

say "the first one ends, and servers die"
end first
wait_for 20 announced 1
compare source again
DAEMON=${DAEMONS[again]}
kill_server again
rm -f "cache/$uuid/index/"*
mount_at third
from third 0 0 "$bytes"
assert_eq "the index in memory" "$(memory third)" "$(memory again)"
DAEMON=${DAEMONS[third]}
kill_server third
compare source third

say "switches, visits and other options"
cp whole volume
datasetfsctl switch third two
from third "$two" 0 0
DAEMON=${DAEMONS[third]}
datasetfsctl switch again two
from again 0 0 "$two"
compare second again
mount_at fourth noversions,suid,window=auto 2>/dev/null || fail "no mount with other options"
from fourth 0 "$(stats fourth index_copy_bytes)" "$(stats fourth index_shared_bytes)"
assert_eq "the fourth has it from somebody" \
    "$(($(stats fourth index_copy_bytes) + $(stats fourth index_shared_bytes)))" "$bytes"
cat again/.datasetfs/versions/one/1 >/dev/null
end fourth
end third
end again
assert_eq "mounts in the folder" "$(ls "cache/$uuid/mounts")" ""

say "a daemon that was killed"
mount_at first
wait_for 20 announced 1
wait_for 20 test -e "$copy" || fail "no copy: $(ls -lR cache)"
DAEMON=${DAEMONS[first]}
kill_daemon first
umount -l first
mount_at again
from again 0 "$bytes" 0
wait_for 20 announced 1 || fail "the link of the killed one stays: $(ls -l "cache/$uuid/mounts")"
end again

say "who is no daemon of ours, or has nothing to lend"
cat >impostor.py <<'END'
"""impostor.py SOCKET WHAT: greets as a daemon does, and then does not as one does."""
import array, os, socket, struct, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
listener.listen()
open(sys.argv[1] + ".ready", "w").close()
def message(kind, code=0, reason=b""):
    body = struct.pack("<iI504s", code, 0, reason)
    return struct.pack("<IHHII", 0x48534644, 1, 1, kind, 16 + len(body)) + body
index = os.memfd_create("datasetfs-index", os.MFD_ALLOW_SEALING)
os.ftruncate(index, int(sys.argv[3]))
kept = []
while True:
    kept.append(listener.accept()[0])
    if sys.argv[2] == "silent":
        continue
    try:
        kept[-1].send(message(1))
        kept[-1].recv(4096)
        socket.send_fds(kept[-1], [message(6)], [index] if sys.argv[2] == "unsealed" else [])
    except ConnectionError:
        pass
END
# impostor WHO WHAT [COMMAND…]: a link to it is in the folder
impostor() {
    local socket=$DATASETFS_TEST_DIR/$1.socket
    rm -f "$socket" "$socket.ready"
    "${@:3}" python3 impostor.py "$socket" "$2" "$bytes" & IMPOSTOR=$!
    end_process_at_exit $IMPOSTOR
    wait_for 20 test -e "$socket.ready" || fail "no impostor"
    ln -s "$socket" "cache/$uuid/mounts/$1"
}
# lends_nothing WHAT: the mount has its index from the copy
lends_nothing() {
    mount_at first
    from first 0 "$bytes" 0
    compare source first
    end first
    kill $IMPOSTOR
    wait $IMPOSTOR 2>/dev/null || true
    rm -f "cache/$uuid/mounts/"*
}
impostor unsealed unsealed && lends_nothing "memory that is not sealed"
impostor nothing nothing && lends_nothing "no descriptor"
impostor silent silent && lends_nothing "no answer"
if is_root; then
    chmod 711 . && mkdir -m 777 open && DATASETFS_TEST_DIR=$PWD/open
    # Not as_user: this one becomes the program, which is ended by its number.
    as_user test -w open || skip "another user cannot reach the test's folder"
    impostor stranger unsealed setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all
    lends_nothing "another user"
fi
