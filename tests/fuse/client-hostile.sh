#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan,tsan
# Peers that send nonsense, never read, or come in crowds cost the mount nothing; and a client that meets a daemon which
# hands over something else than it should, or is another user's, goes through the mount and says why.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/client.sh"
need_fuse
need_root
need_command cc pkg-config ssh-keygen
peers=$DATASETFS_SOURCE/tests/fuse/client_peers.py

mkdir -p source/folder
for i in {1..20}; do head -c $((i * 3000)) /dev/urandom >source/folder/$i; done
head -c 3000000 /dev/urandom >source/folder/20 # so that there are block checksums
pack volume source --label v1

(
    ulimit -n 400
    mount_volume volume mnt
    say "peers"
    for case in nonsense refused descriptors greedy reports; do
        python3 "$peers" $case mnt >peer.log 2>&1 || fail "$case: $(cat peer.log)"
    done
    dropped=$(stats mnt client_dropped)
    [ "$dropped" -ge 13 ] || fail "only $dropped were dropped"
    grep -q "a client is dropped, pid=[0-9]* uid=0: " daemon.log || fail "no line about those that were dropped"
    counts="$(stats mnt client_files) $(stats mnt client_bytes) $(stats mnt client_checksum_failures)"
    counts+=" $(stats mnt client_device_errors) $(stats mnt client_read_failures)"
    assert_eq "what was reported" "$counts" "7 7000 1 2 3"
    grep -q "a client that reads past the mount had trouble, pid=[0-9]* uid=0 checksum_failures=1" daemon.log ||
        fail "no line about trouble"
    python3 "$peers" flood mnt >flood.log 2>&1 || fail "flood: $(cat flood.log)"
    assert_eq "a crowd" "$(cat flood.log)" "100 clients are connected, which is the limit"
    client after
    told after "open mnt" "direct v1"
    told after "compare source" "20 right, 0 failed"
    diff -r source mnt || fail "trees differ"

    say "a mount that ends with peers in it"
    python3 - "$(json socket mnt/.datasetfs/client)" >stuck.log <<'CODE' &
import os, socket, sys
peers = []
for _ in range(20):
    peers.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    peers[-1].connect(sys.argv[1])
print("connected", flush=True)
def more(peer):
    try:
        return peer.recv(4096)
    except ConnectionResetError: # its greeting was not read yet
        return b""
while any(more(peer) for peer in peers):
    pass
CODE
    stuck=$!
    wait_for 10 grep -q connected stuck.log || fail "no peers"
    unmount mnt
    wait $stuck || fail "the peers"

    say "a mount that ends while a client's open of the volume hangs"
    cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/hold.c" -o hold.so || fail "hold.c does not compile"
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 LD_PRELOAD=$PWD/hold.so HOLD_VOLUME=$PWD/volume \
        HOLD_WHILE=$PWD/hold mount_volume volume mnt
    echo open >hold
    path=$(json socket mnt/.datasetfs/client)
    python3 "$peers" patient mnt >patient.log 2>&1 & patient=$!
    wait_for 20 test -e hold.held || fail "nobody opens the volume: $(cat patient.log)"
    unmount mnt
    wait $patient || fail "the client: $(cat patient.log)"
    [ ! -e "$path" ] || fail "the socket is still there"
    grep -q "the device holds a client's open of the volume back, the daemon ends without it" daemon.log ||
        fail "no line about the device"
    told after "compare source" "20 right, 0 failed"
    end_client after
) || fail "peers"

say "daemons"
mount_volume volume mnt
path=$(json socket mnt/.datasetfs/client)
mv "$path" real.socket
client it
# faked NAME CLIENT COMMAND: tells the client, while a daemon with this fault is in the place of the real one
faked() {
    local process
    rm -f fake.log
    python3 "$peers" fake "$1" "$path" "$PWD/real.socket" >fake.log 2>&1 &
    process=$!
    wait_for 10 grep -qs listening fake.log || fail "no fake daemon: $(cat fake.log)"
    tell "$2" "$3"
    kill $process
    wait $process 2>/dev/null || true
    rm -f "$path"
}
# fault NAME WHY [VERSION]: the client goes through the mount, for this reason
fault() {
    faked "$1" it "open mnt${3:+ $3}"
    [[ $ANSWER == "$2"* ]] || fail "$1: found '$ANSWER', expected '$2'"
    told it "compare source" "20 right, 0 failed"
}
fault none "direct v1"
fault hangs-up "mount v1 the other side has ended"
fault newer "mount v1 the other side speaks protocols 10 to 12, this release speaks 2"
fault no-greeting "mount v1 a message that begins with 0x"
fault unsealed-index "mount v1 index: it has the seals 0, expected 0xf"
fault index-without-seal "mount v1 index: it has the seals 0x7, expected 0xf"
fault short-index "mount v1 index: "
fault unsealed-state "mount v1 the state has the seals 0x7, expected 0x17"
fault short-state "mount v1 the state has 100 bytes, expected 4096"
fault no-state "mount v1 the state begins with 0, expected"
fault two-descriptors "mount v1 2 descriptors came, expected 4"
fault no-descriptors "mount v1 0 descriptors came, expected 4"
fault two-members "mount v1 2 members of the volume came, expected 1 of 1"
fault no-slots "mount v1 a message of "
fault many-slots "mount v1 1 members of the volume came, expected 0 of 2147483648"
fault a-member-less "mount v1 1 members of the volume came, expected 2 of 2"
fault no-member "mount v1 1 members of the volume came, expected 0 of 1"
fault a-slot-more "mount v1 the volume that came has 2 members, the version has 1"
fault a-pipe "mount v1 the volume: neither a regular file nor a block device"
fault a-volume-to-write "mount v1 the volume: it is open with the flags"
fault garbage "mount v1 the record of a version: catalogue: bad magic"
fault a-short-record "mount v1 the record of a version has 100 bytes, its parts need others"
fault no-record "mount v1 what should be the record of a version is no file"
fault many-modes "mount v1 the record of a version: hidden_mode="
fault short-answer "mount v1 a message of 528 bytes"
fault not-an-errno "mount v1 an answer with code 77, which is no errno"
fault many-inodes "mount v1 the record of a version: "
fault no-sequence "mount v1 the record of a version: catalogue: version 'v1' has sequence 16777216 after 0"
fault no-index "mount v1 no index came of the version that the mount serves"
pack volume source --label v2
datasetfsctl current volume v1 >/dev/null
exec {held}<mnt/.datasetfs/versions/v2/folder/1 # so that the daemon has v2 open
fault another "mount v2 version 'v2' with sequence 2 came, and was not asked for" v2
exec {held}<&-

say "a daemon that deceives somebody who asks for a signature"
ssh-keygen -q -t ed25519 -N '' -C alice -f alice
chmod go-w .
echo "alice $(cut -d' ' -f1,2 alice.pub)" >signers
TRUST=$PWD/signers client trusting
faked none trusting "open mnt"
assert_contains "unsigned" "$ANSWER" "version 'v1' is not trusted: it is not signed"
datasetfsctl sign volume v1 --key alice
faked none trusting "open mnt"
assert_contains "signed" "$ANSWER" "direct v1"
faked another-index trusting "open mnt"
assert_contains "another index" "$ANSWER" "has the digest"
for fault in another-digest other-block-sums; do
    faked $fault trusting "open mnt"
    assert_contains "$fault" "$ANSWER" "version 'v1' is not trusted: the daemon has another record of it"
done
faked hangs-up trusting "open mnt"
assert_contains "no daemon" "$ANSWER" "who signed what comes through a mount cannot be told"
end_client trusting

say "another user's daemon"
chmod 777 .
setpriv --reuid 65534 --regid 65534 --clear-groups "$(PATH=/usr/bin:$PATH command -v python3)" - "$PWD/other.socket" \
    >other.log 2>&1 <<'CODE' &
import os, socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
listener.listen()
print("listening", flush=True)
peer, _ = listener.accept()
print("got", peer.recv(100), flush=True)
CODE
other=$!
wait_for 10 grep -q listening other.log || fail "no other daemon: $(cat other.log)"
mv other.socket "$path"
told it "open mnt" "mount v1 the daemon of the mount runs as user 65534, trusted are those of root and of user 0"
wait $other || fail "the other daemon"
assert_contains "what it got" "$(cat other.log)" "got b''"
rm -f "$path"
told it "compare source" "20 right, 0 failed"
mv real.socket "$path"
told it "open mnt direct" "direct v1"
end_client it
unmount mnt

# The next mount has the device number of the one before, unless some other mount was faster.
say "another mount in the place of a daemon that has ended"
# shellcheck disable=SC2046
cc -D_GNU_SOURCE -O1 -Wall -Wextra -I"$DATASETFS_SOURCE/include" "$DATASETFS_SOURCE/tests/library/hostile.c" \
    -o hostile $(pkg-config --cflags --libs fuse3) || fail "hostile.c does not compile"
mkdir -p small/folder
head -c 9000 /dev/urandom >small/file
echo x >small/folder/below
pack few small
mount_volume few mnt
client small
told small "open mnt direct" "direct v1"
unmount mnt
MODE=grows ./hostile mnt
wait_for 10 is_mounted mnt || fail "no other mount"
told small "closefrom 400" closed
told_part small "compare small" "1 right, 1 failed EBADF"
fusermount3 -u mnt
end_client small
