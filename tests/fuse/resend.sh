#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=gcc
# Servers of one mount that are killed with READs in hand, and others that take over with what src/fuse/ has for it: the
# readers get right data. At the end the last one is not replaced, and the abort file ends the connection.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

deaths=$(length 20 200)
readers=4
each=$((deaths * 3 + 10)) # files; a death takes eight answers, so at least two readers are left at the last one
mkdir mnt
small_files source 1 $((readers * each + 1)) 0

# begin LIVES END: the mount, with its file 0 open as descriptor 3
begin() {
    "$DATASETFS_BUILD/tests/successors" source mnt "$1" "$2" >successors.log 2>&1 &
    FIRST=$!
    end_daemon_at_exit "$FIRST" mnt
    wait_for 20 grep -qE '^(ready|no RESEND)$' successors.log || { cat successors.log; fail "no mount"; }
    ! grep -q '^no RESEND' successors.log || skip "the kernel sends no request again"
    exec 3<mnt/0
}

# has NAME: that count of what happened
has() {
    sed -nE "/^deaths=/s/.*\b$1=([0-9]+).*/\1/p" successors.log
}

# reader NUMBER: compares its files, every second reader past the page cache
reader() {
    local i
    for ((i = $1 * each + 1; i <= ($1 + 1) * each; i++)); do
        if [ $(($1 % 2)) = 0 ]; then
            cmp "source/$i" "mnt/$i" || return 1
        else
            dd "if=mnt/$i" bs=1M iflag=direct status=none | cmp "source/$i" - || return 1
        fi
    done
}

begin $((deaths + 1)) serve
socket=$(sed -n 's/^socket=//p' successors.log)
for ((r = 0; r < readers; r++)); do
    (reader $r 3>&- 2>reader$r.err) & pids[r]=$!
done
for ((r = 0; r < readers; r++)); do
    wait_end "${pids[r]}" || fail "reader $r hangs: $(cat successors.log)"
    wait "${pids[r]}" || fail "reader $r: $(cat reader$r.err)"
done
[ -z "$socket" ] || [ -S "$socket" ] || fail "no socket for umount(8) after all servers: $socket"
exec 3<&-
umount mnt
wait_end "$FIRST" || fail "the last server does not end after umount"
wait "$FIRST" || { cat successors.log; fail "the first process failed"; }
[ -z "$socket" ] || [ ! -e "$socket" ] || fail "the socket for umount(8) stays: $socket"
assert_eq "deaths" "$(has deaths)" "$deaths"
assert_eq "wrong answers" "$(has wrong)" 0
[ "$(has held)" -ge $((2 * deaths)) ] || fail "READs in hand at deaths: $(cat successors.log)"
[ "$(has resent)" -ge "$(has held)" ] || fail "READs that came again: $(cat successors.log)"
[ "$(has doubled)" -ge 1 ] || fail "no answer was refused after a RESEND: $(cat successors.log)"
say "$(tail -n 1 successors.log)"

begin 1 abort
grep -q '^no abort' successors.log && { say "$(grep '^no abort' successors.log)"; exit 0; }
for ((r = 0; r < readers; r++)); do
    (reader $r 3>&- 2>reader$r.err) & pids[r]=$!
done
for ((r = 0; r < readers; r++)); do
    wait_end "${pids[r]}" || fail "reader $r hangs after the abort"
    ! wait "${pids[r]}" || fail "reader $r has read all its files from a server that was killed"
done
exec 3<&-
wait_end "$FIRST" || fail "the first process does not end after the abort"
wait "$FIRST" || { cat successors.log; fail "the first process failed to abort the connection"; }
umount mnt
