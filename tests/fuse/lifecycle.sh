#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke daemon channels in=asan,gcc:ring
# From mount to unmount: in the background, in the foreground, by signal, by umount, while busy.
. "$(dirname "$0")/../lib/common.sh"
need_fuse

mkdir source mnt
echo hello >source/file
pack volume source

# begin: a daemon in the background; DAEMON is its number, SERVER that of the process that serves
begin() {
    datasetfs volume mnt >begin.log 2>&1 </dev/null || { cat begin.log; fail "datasetfs volume mnt"; }
    # It serves now, not soon.
    assert_eq "content right after the command" "$(cat mnt/file)" hello
    DAEMON=$(json pid mnt/.datasetfs/stats.json)
    SERVER=$(json server_pid mnt/.datasetfs/stats.json)
    end_daemon_at_exit "$DAEMON" mnt
    # Notices and what it serves; nothing that failed.
    ! grep -iE "cannot|failed|ignoring" begin.log || fail "it said: $(cat begin.log)"
}

# ended HOW
ended() {
    wait_end "$DAEMON" || fail "$1: the daemon runs on"
    wait_end "$SERVER" || fail "$1: the process that serves runs on"
    ! is_mounted mnt || fail "$1: still mounted"
}

say "umount ends the daemon"
begin
umount mnt || fail "umount"
ended umount

say "fusermount3 -u ends the daemon"
begin
fusermount3 -u mnt || fail "fusermount3 -u"
ended fusermount3

for signal in TERM INT QUIT HUP; do
    say "SIG$signal unmounts"
    begin
    kill -$signal "$DAEMON"
    ended "SIG$signal"
done

say "the daemon holds no descriptor of ours and does not sit in our folder"
begin
for process in "$DAEMON" "$SERVER"; do
    links=$(ls -l "/proc/$process/fd" 2>/dev/null || true)
    if [ -n "$links" ]; then
        ! grep -F begin.log <<<"$links" || fail "it holds our log: $(cat "/proc/$process/cmdline" | tr '\0' ' ')"
        assert_eq "its folder" "$(readlink "/proc/$process/cwd")" /
    fi
done
umount mnt
ended umount

say "a busy unmount says so and goes on serving"
begin
exec 7<mnt/file
if umount mnt 2>busy.err; then fail "a busy umount worked"; fi
assert_contains "umount" "$(cat busy.err)" "busy"
assert_eq "content" "$(cat mnt/file)" hello
exec 7<&-
umount mnt
ended umount

say "SIGTERM while busy: says so, and no reader hangs"
mount_volume volume mnt
exec 7<mnt/file
: >daemon.log
kill -TERM "$DAEMON"
wait_for 10 grep -qi "busy" daemon.log || fail "no word of being busy: $(cat daemon.log)"
timeout 10 cat <&7 >/dev/null || true
exec 7<&-
if is_mounted mnt; then
    umount mnt
fi
wait_end "$DAEMON" || fail "the daemon runs on"

say "SIGHUP while busy: says so each time, and nothing is taken out of sight"
mount_volume volume mnt
: >daemon.log
exec 7<mnt/file
for hangup in 1 2 3; do
    kill -HUP "$DAEMON"
    wait_for 10 sh -c "[ \$(grep -c 'busy and stays mounted' daemon.log) = $hangup ]" ||
        fail "hangup $hangup: $(cat daemon.log)"
done
assert_eq "content by path" "$(cat mnt/file)" hello
exec 7<&-
kill -HUP "$DAEMON"
wait_end "$DAEMON" || fail "the daemon runs on"
! is_mounted mnt || fail "still mounted after SIGHUP"

say "nohup: SIGHUP has no effect"
trap '' HUP
mount_volume volume mnt
trap - HUP
for process in "$DAEMON" "$SERVER"; do
    [ $((0x$(awk '$1 == "SigBlk:" { print $2 }' "/proc/$process/status") & 1)) = 0 ] || fail "SIGHUP is waited for"
done
kill -HUP "$DAEMON"
assert_eq "content after SIGHUP" "$(cat mnt/file)" hello
unmount mnt

say "foreground: lines have a time; SIGINT ends it with status 0"
: >daemon.log
mount_volume volume mnt
! grep -vE "^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z datasetfs: " daemon.log || fail "lines without a time"
kill -INT "$DAEMON"
wait_end "$DAEMON" || fail "it runs on"
exits 0 wait "$DAEMON"
! is_mounted mnt || fail "still mounted"

say "foreground: an abort ends it with status 1 and one line, and takes the dead mount away"
mount_volume volume mnt
: >daemon.log
if abort_connection mnt; then
    wait_end "$DAEMON" || fail "it runs on"
    exits 1 wait "$DAEMON"
    assert_eq "lines" "$(grep -c . daemon.log)" 1
    assert_contains "the line" "$(cat daemon.log)" "the FUSE connection was aborted"
    ! is_mounted mnt || fail "still mounted"
else
    say "no right to do that here"
    unmount mnt
fi

say "relative paths, from another folder"
mkdir elsewhere
(cd elsewhere && datasetfs ../volume ../mnt) || fail "relative paths"
assert_eq "content" "$(cat mnt/file)" hello
source=$(awk -v at="$PWD/mnt" '$2 == at { print $1 }' /proc/mounts)
[ "$source" = "$PWD/volume" ] || fail "/proc/mounts says '$source' instead of '$PWD/volume'"
umount mnt

say "mounted twice, at two places"
mkdir mnt2
datasetfs volume mnt
datasetfs volume mnt2
cmp mnt/file mnt2/file || fail "differ"
assert_eq "inode numbers" "$(stat -c %i mnt/file)" "$(stat -c %i mnt2/file)"
umount mnt
assert_eq "content" "$(cat mnt2/file)" hello
umount mnt2

say "inode numbers are the same after a restart"
datasetfs volume mnt
before=$(stat -c '%i %h %s %b' mnt/file mnt)
umount mnt
datasetfs volume mnt
assert_eq "inodes" "$(stat -c '%i %h %s %b' mnt/file mnt)" "$before"
assert_eq "root" "$(stat -c %i mnt)" 1
umount mnt

wait_for 20 has_no_daemon mnt mnt2 ../mnt || fail "a daemon runs on"
