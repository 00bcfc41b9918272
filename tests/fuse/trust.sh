#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon timeout=180
# A mount with trust= serves, switches to, follows and lets visitors into versions that somebody in its file has signed,
# and no others: not one that is unsigned, or signed by a stranger, or by somebody whose key had expired, or that is
# older than what it serves if nobody asked for it. So do handles of the library, programs under datasetfs-run, and a
# successor of the daemon. Each refusal is one line, and the mount serves on.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/client.sh"
need_fuse
need_command ssh-keygen

for who in alice carol mallory; do
    ssh-keygen -q -t ed25519 -N '' -C "$who" -f "$who"
done
chmod go-w .
{
    echo "alice $(cut -d' ' -f1,2 alice.pub)"
    echo "carol valid-before=\"20200101Z\" $(cut -d' ' -f1,2 carol.pub)"
} >signers
echo "# nobody" >revoked
chmod 644 signers revoked
trust=trust=signers
mkdir source mnt
pack_at() { local date=$1; shift; echo "$1" >source/file; SOURCE_DATE_EPOCH=$date pack volume source --label "$@"; }
refused_labels="unsigned stranger expired"

pack_at 1700000000 old --sign alice
pack_at 1800000000 new --sign alice
pack_at 1900000000 unsigned --no-current
pack_at 1900000000 stranger --no-current --sign mallory
pack_at 1900000000 expired --no-current --sign carol
assert_fails 32 "is not signed" datasetfs -o "version=unsigned,$trust" volume mnt
assert_fails 32 "is not allowed" datasetfs -o "version=stranger,$trust" volume mnt
assert_fails 32 "was valid before 2020-01-01" datasetfs -o "version=expired,$trust" volume mnt
mount_volume volume mnt -o "$trust,revoked=$PWD/revoked"
assert_eq "signer" "$(stats mnt signer)" alice
assert_eq "lines about the sums" "$(grep -c "the signature proves names, sizes and attributes; sums of contents \
(xxh3-64) find accidents, but can be forged" daemon.log)" 1

# refuses REASON LABEL…: a switch to these, and a visit; the mount serves on
refuses() {
    local label reason=$1
    shift
    for label in "$@"; do
        assert_fails 1 "$reason" datasetfsctl switch mnt "$label"
        ! ls "mnt/.datasetfs/versions/$label" >visit.log 2>&1 || fail "a visitor sees '$label'"
        ! "${run[@]}" cat "mnt/.datasetfs/versions/$label/file" >visit.log 2>&1 || fail "a program reads '$label'"
        assert_eq "lines" "$(wc -l <visit.log)" 1
    done
    assert_eq "content" "$(<mnt/file)" new
}
run=(env)
if [ -e "$DATASETFS_BUILD/src/preload/libdatasetfs-preload.so" ]; then
    run=(env DATASETFS_REPORT="$PWD/report" datasetfs-run)
    touch report
    assert_eq "what a program reads past the mount" "$("${run[@]}" cat mnt/file)" new
    assert_eq "files served past the mount" "$(served report)" 1
fi
# shellcheck disable=SC2086
refuses "is not trusted" $refused_labels

say "handles of the library"
mkdir of-new
echo new >of-new/file
TRUST=$PWD/signers client alices
for where in volume mnt; do
    told_part alices "open $where direct new" " new"
    told alices "compare of-new" "1 right, 0 failed"
    for label in $refused_labels; do
        told_part alices "open $where direct $label" "EKEYREJECTED"
        assert_contains "$where $label" "$ANSWER" "version '$label' is not trusted: "
    done
done
told_part alices "open volume" "volume new"
for label in old $refused_labels; do
    datasetfsctl current volume $label >/dev/null
    tell alices refresh
    case $label in
    old) assert_contains old "$ANSWER" "older than 'new' of 2027-01-15T08:00:00Z: open the volume" ;;
    *) assert_contains "$label" "$ANSWER" "version '$label' is not trusted: " ;;
    esac
    told_part alices info "volume new"
done
datasetfsctl current volume old >/dev/null
told_part alices "open volume" "volume old" # nobody remembers for it
datasetfsctl current volume new >/dev/null
daemon=$DAEMON
mount_volume volume plain -o version=new
told_part alices "open plain" "direct new"
datasetfsctl switch plain stranger >/dev/null
tell alices refresh
assert_contains "a mount of somebody else's version" "$ANSWER" "EKEYREJECTED"
told_part alices info "direct new"
end_client alices
unmount plain
DAEMON=$daemon

say "a successor of the daemon"
kill_server mnt
# shellcheck disable=SC2086
refuses "is not trusted" $refused_labels
assert_eq "signer of the successor's version" "$(stats mnt signer)" alice
datasetfsctl switch mnt old
assert_eq "content" "$(<mnt/file)" old
datasetfsctl switch mnt new

say "a key that is revoked meanwhile"
cut -d' ' -f1,2 alice.pub >revoked
refuses "is revoked" old
kill_server mnt
refuses "is revoked" old
unmount mnt
assert_fails 32 "is revoked" datasetfs -o "$trust,revoked=$PWD/revoked" volume mnt

say "following"
# refusals TEXT: lines of the daemon that say that it does not follow, and why
refusals() { grep -c "cannot follow the volume's current version, trying again: .*$1" daemon.log || true; }
# declines TEXT NUMBER: there are so many of them
declines() { [ "$(refusals "$1")" -ge "$2" ]; }
# is_behind TEXT: status and top say so, and why
is_behind() {
    datasetfsctl status mnt | grep -q "^behind: the current version is not taken: $1" &&
        datasetfsctl top --json --batch 1 mnt | json mounts.0.trouble | grep -q "$1"
}
# is_healthy: status says that the version is taken, or that no other one is current
is_healthy() { datasetfsctl status mnt | grep -q '^healthy: '; }
for label in old $refused_labels; do
    : >daemon.log
    datasetfsctl current volume new
    mount_volume volume mnt -o "$trust,follow=current:1"
    datasetfsctl current volume $label
    reason="version '$label' is not trusted"
    [ $label != old ] || reason="version 'old' is of 2023-11-14T22:13:20Z, older than 'new' of 2027-01-15T08:00:00Z"
    wait_for 20 declines "$reason" 1 || fail "no word about '$label': $(<daemon.log)"
    assert_eq "content" "$(<mnt/file)" new
    lines=$(refusals "$reason")
    kill_server mnt
    wait_for 20 declines "$reason" $((lines + 1)) || fail "no word of the successor about '$label': $(<daemon.log)"
    assert_eq "content" "$(<mnt/file)" new
    wait_for 20 is_behind "$reason" || fail "status of '$label': $(datasetfsctl status mnt | head -n 3)"
    [ $label = expired ] || unmount mnt
done
datasetfsctl current volume new
wait_for 20 is_healthy || fail "the version is current again: $(datasetfsctl status mnt | head -n 3)"
datasetfsctl current volume expired
wait_for 20 is_behind "$reason" || fail "status, once more: $(datasetfsctl status mnt | head -n 3)"
pack_at 1850000000 newer --sign alice
wait_for 20 grep -qx newer mnt/file
wait_for 20 is_healthy || fail "the version was taken: $(datasetfsctl status mnt | head -n 3)"
unmount mnt

say "nothing is remembered over an unmount"
datasetfsctl current volume old
mount_volume volume mnt -o "$trust,follow=current:1"
assert_eq "content" "$(<mnt/file)" old
unmount mnt

say "mirrors, after a compaction by somebody without a key, and without a member"
mkdir many
for i in {1..60}; do head -c 90000 /dev/urandom >many/$i; done
pack a,b,c many --label first --segment-size 1M --sums sha256 --protect mirror:2 --order random --sign alice
for i in {1..50}; do head -c 90000 /dev/urandom >many/$i; done
pack a many --label second --sign alice
mount_volume a mnt -o "$trust,follow=current:1"
compare many mnt || fail "trees differ"
datasetfsctl remove a first >/dev/null 2>&1 || fail "remove"
before=$(stats mnt generation.sequence)
datasetfsctl compact a >compact.log 2>&1 || fail "compact: $(<compact.log)"
is_moved() { [ "$(stats mnt generation.sequence)" != "$before" ]; }
wait_for 20 is_moved || fail "nothing was moved, or the mount does not follow: $(<compact.log) $(<daemon.log)"
compare many mnt || fail "trees differ after the compaction"
unmount mnt
mv b away
mount_volume a mnt -o "$trust"
drop_caches
compare many mnt || fail "trees differ without a member"
assert_eq "signer" "$(stats mnt signer)" alice
