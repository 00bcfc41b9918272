#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=gcc queue=loops timeout=300
# A mount that the kernel serves follows its volume's current version, which another host publishes: a process looks, is
# killed and goes on, and the mount serves on without it. A switch by hand stays, nothing older is followed, and what is
# mounted there later is left alone.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/kernel.sh"
need_kernel_mounts

mkdir source
# publish LABEL [OPTIONS…]: as another host does, past the lock on the file
publish() {
    echo "$1" >source/file
    pack "$LOOP" source --label "$@"
}
shows() {
    [ "$(cat theirs/file)" = "$1" ]
}
# follower_of: the process that the mount option has started; the newer ones try whether the device answers
follower_of() {
    pgrep -o -x datasetfs || true
}
read_by() {
    awk '/^rchar/ { print $2 }' "/proc/$1/io"
}
# looked PROCESS [TIMES]: since it had read $before
looked() {
    [ "$(read_by "$1")" -ge $((before + ${2:-3} * 8 * 4096)) ]
}

truncate -s 64M volume
loop_device volume
publish v1
kernel_mount volume -o follow=current:1
follower=$(follower_of)
[ -n "$follower" ] || fail "nothing follows"
end_process_at_exit "$follower"
publish v2
wait_for 30 shows v2 || fail "it does not follow: $(cat theirs/file)"
datasetfsctl switch theirs v1 >/dev/null
publish beside --no-current
before=$(read_by "$follower")
wait_for 30 looked "$follower" || fail "it does not look"
shows v1 || fail "a switch by hand was undone"
publish v3
wait_for 30 shows v3 || fail "it does not follow after a switch by hand: $(cat theirs/file)"
say "following"

kill -KILL "$follower"
wait_end "$follower"
publish v4
shows v3 || fail "a mount without the process that follows: $(cat theirs/file)"
datasetfsctl follow theirs 2>err &
follower=$!
end_process_at_exit $follower
wait_for 30 shows v4 || fail "it does not go on: $(cat err)"
datasetfsctl switch theirs v2 >/dev/null
kill $follower
wait $follower 2>/dev/null || true
datasetfsctl follow theirs 2>err &
follower=$!
end_process_at_exit $follower
before=0
wait_for 30 looked $follower || fail "it does not look"
shows v2 || fail "a switch by hand was undone by another process that follows"
assert_eq "records" "$(kernel_records | wc -l)" 1
umount --lazy theirs
wait_for 30 wait_end $follower || fail "it stays although the mount is gone"
wait $follower || fail "its end: $(cat err)"
say "its death"

kernel_mount volume -o follow=current:1
follower=$(follower_of)
end_process_at_exit "$follower"
wait_for 30 looked "$follower" 1 || fail "nothing follows"
kill -STOP "$follower"
umount theirs
kernel_mount volume -o version=v1
kill -CONT "$follower"
wait_end "$follower" || fail "it stays with another mount"
shows v1 || fail "it switched a mount that came in place of its own: $(cat theirs/file)"
umount theirs
say "another mount in its place"
mkdir absent
assert_fails 3 "not on a datasetfs mount" datasetfsctl follow absent
assert_fails 2 "mount option 'follow' cannot be combined with 'version', which pins the mount" \
    datasetfs -o kernel,follow=current,version=v1 volume theirs
mount_volume volume ours
assert_fails 1 "its daemon follows by itself, with the mount option follow=current" datasetfsctl follow ours
unmount ours

command -v ssh-keygen >/dev/null || skip "no ssh-keygen: older versions were not tested"
ssh-keygen -q -t ed25519 -N '' -C alice -f alice
echo "alice $(cut -d' ' -f1,2 alice.pub)" >signers
chmod go-w . signers
pack_at() {
    echo "$2" >source/file
    SOURCE_DATE_EPOCH=$1 pack "$LOOP" source --label "$2" --no-current
    datasetfsctl sign "$LOOP" "$2" --key alice >/dev/null
}
pack_at 1700000000 old
pack_at 1800000000 new
datasetfsctl current "$LOOP" new >/dev/null
kernel_mount volume -o trust=signers,follow=current:1
kill "$(follower_of)"
datasetfsctl follow theirs 2>err &
follower=$!
end_process_at_exit $follower
datasetfsctl current "$LOOP" old >/dev/null
wait_for 30 grep -q "version 'old' is of .*, older than 'new' of .*: use 'datasetfsctl switch'" err ||
    fail "nothing about an older version: $(cat err)"
shows new || fail "it follows to an older version"
datasetfsctl switch theirs old >/dev/null 2>&1 || fail "a switch by hand to an older version"
shows old || fail "after the switch: $(cat theirs/file)"
publish v9
wait_for 30 grep -q "version 'v9' is not trusted: it is not signed" err || fail "an unsigned version: $(cat err)"
shows old || fail "it follows to what is not signed"
umount --lazy theirs
wait_end $follower
say "older and unsigned versions"
