#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan timeout=300
# A member that does not answer is a missing one after five seconds, for whoever opens the volume: it is listed as
# such, others publish, mount and take its place without it, and every program ends although the device still has its
# read, the daemon of a mount as well. One that is named alone is waited for, until a signal comes.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

mkdir -p source real mnt
head -c 300000 /dev/urandom >source/file
pack real/a,real/b,real/c source --protect mirror:2
mv real/b b.real
slow_device b.real b 0 b.control
all=real/a,b,real/c
datasetfsctl member list --json "$all" >list.json
assert_eq "state" "$(json members.1.state list.json) $(json members.1.why list.json)" "ok None"

say "a mount without io_uring ends, whoever keeps one of its threads"
mount_volume "$all" mnt -o io=threads
slow_control b.control hang
readers=()
is_kept() {
    dd if=mnt/file of=/dev/null bs=128k iflag=direct status=none &
    readers+=($!)
    grep -qs request_wait_answer /proc/"$SERVER"/task/*/wchan
}
wait_for 20 is_kept || fail "no thread waits for the device"
wait "${readers[@]}" || fail "a read"
umount mnt || fail "umount"
is_gone() {
    ! grep -qs "^State:[[:space:]]*[^[:space:]Z]" "/proc/$SERVER/status"
}
wait_for 30 is_gone || fail "the daemon outlives its mount: $(kept_by mnt)"
! readlink "/proc/$SERVER/task/"*/fd/* "/proc/$DAEMON/fd/"* 2>/dev/null | grep -qx "$PWD/real/[ac]" ||
    fail "it has members open"
slow_control b.control 0
wait_end "$DAEMON" || fail "its last thread does not end"
wait "$DAEMON" || fail "the daemon ended with status $?: $(cat daemon.log)"
slow_control b.control hang

# ends STATUS COMMAND…: it has ended although the device hangs; what it said is in ended
ends() {
    local rc=0
    timeout 60 "${@:2}" >ended 2>&1 || rc=$?
    [ $rc = "$1" ] || fail "status $rc of ${*:2}: $(cat ended)"
}

ends 0 datasetfsctl member list "$all"
assert_contains "the list" "$(cat ended)" "missing: 'b' does not answer"
ends 0 datasetfsctl member list --json "$all"
assert_eq "state" "$(json members.1.state ended) $(json members.1.why ended)" "missing 'b' does not answer"

say "who reads"
WAY=direct "$DATASETFS_BUILD/tests/library/library-way" real/a,real/c sums | sort >sums
WAY=direct ends 0 "$DATASETFS_BUILD/tests/library/library-way" "$all" sums
sort ended | cmp - sums || fail "the library: $(cat ended)"
for command in "list $all" "list --space $all" "describe $all" "dump $all" "export tar $all v1 tar"; do
    # shellcheck disable=SC2086
    ends 0 datasetfsctl $command
done
for command in verify scrub; do
    ends 2 datasetfsctl $command "$all"
    assert_contains "$command" "$(cat ended)" "unknown member 1: it is missing"
done
ends 32 datasetfs -o kernel "$all" mnt
assert_contains "the kernel" "$(cat ended)" "member 1 of the volume is missing or stale"

# One that is alive is named, and the silent one is found beside it.
ln -s ../b real/b
for command in list "list --space" describe; do
    # shellcheck disable=SC2086
    ends 0 datasetfsctl $command real/a
done
ends 0 datasetfsctl member list real/a
assert_contains "the list by one name" "$(cat ended)" "real/b' does not answer"
rm real/b

say "who changes"
echo more >source/more
for command in "current $all v1" "remove $all v1" "compact $all"; do
    # shellcheck disable=SC2086
    ends 1 datasetfsctl $command
    assert_contains "$command" "$(cat ended)" "member 1 is missing"
done
ends 1 mkdatasetfs --progress none "$all" source
assert_contains "a publish" "$(cat ended)" "member 1 is missing"
ends 0 mkdatasetfs --progress none --degraded "$all" source
assert_contains "a degraded publish" "$(cat ended)" "is missing and becomes stale by this change"

mount_volume "$all" mnt
compare source mnt
unmount mnt

ends 0 datasetfsctl member replace "$all" 1 real/new
ends 0 datasetfsctl member list real/a
! grep -q missing ended || fail "it was replaced: $(cat ended)"

say "alone"
for command in "mkdatasetfs --progress none b source" datasetfsctl\ {list,describe,dump,verify,scrub,compact}" b" \
    "datasetfsctl member list b" "datasetfsctl current b v1" "datasetfsctl remove b v1" "datasetfsctl stat b file" \
    "datasetfsctl export tar b v1 tar"; do
    # In a shell of its own background jobs ignore SIGINT.
    # shellcheck disable=SC2086
    env --default-signal=INT $command >ended 2>&1 &
    wait_for 20 has_open "${command%% *}" $! b || fail "it does not open the device: $command"
    kill -INT $!
    wait_end $! || fail "it does not end: $command"
    rc=0
    wait $! || rc=$?
    [ $rc = 1 ] || [ $rc = 130 ] || fail "status $rc of $command: $(cat ended)"
done
slow_control b.control 0
