#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan
# A mount that another process has made, whose /dev/fuse the daemon gets as /dev/fd/N: by root, by a plain user,
# without a device of its own; the server dies, a signal ends the service, the mount is ended by its maker.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_root
need_mount
chmod 755 .
export PATH=$DATASETFS_BUILD/tests/library:$PATH

mkdir source mnt
echo hello >source/file
head -c 300000 /dev/urandom >source/large
pack volume source --label v1
echo other >source/file
pack volume source --label v2
chmod 644 volume
at_exit umount -ql "$PWD/mnt"

# give USER WORD…: the daemon of a mount that is made for it; $pid is its supervisor
give() {
    python3 "$LIB/give_mount.py" mnt "$1" datasetfs "${@:2}" volume /dev/fd/FD 2>>daemon.log || fail "$(cat daemon.log)"
    pid=$(stats mnt pid)
    end_process_at_exit "$pid"
}

for user in 0 65534; do
    for bare in "" 1; do
        say "user $user, ${bare:+without }/dev/fuse"
        BARE=$bare give $user -o version=v1
        assert_eq "content" "$(cat mnt/file)" hello
        cmp mnt/large source/large || fail "a large file"
        kill -KILL "$(stats mnt server_pid)"
        assert_eq "content by the next server" "$(cat mnt/file)" hello
        assert_eq "servers that died" "$(stats mnt restarts)" 1
        datasetfsctl switch mnt v2 >/dev/null || fail "switch"
        assert_eq "content after a switch" "$(cat mnt/file)" other
        if [ "$user$bare" = 0 ]; then # the kernel may tell which mount it is
            told="does not tell which mount"
            ! grep -q fuse_connection "/proc/$pid/fdinfo/"* || told="v2 2 "
            assert_contains "past the mount" "$(WAY=direct library-way mnt session <<<info 2>&1)" "$told"
        fi
        umount mnt
        wait_for 20 eval "! kill -0 $pid 2>/dev/null" || fail "it runs on after the mount's end"
    done
done

say "signals"
for words in "" -onosupervisor; do
    give 0 $words
    kill -TERM "$pid"
    wait_for 20 eval "! kill -0 $pid 2>/dev/null" || fail "it ignores SIGTERM"
    assert_fails 1 "Transport endpoint is not connected" cat mnt/file
    umount mnt
done

say "what is no mount"
assert_fails 32 "mountpoint '/dev/fd/9' is not /dev/fuse, open and mounted" datasetfs volume /dev/fd/9
for number in 2 x ""; do
    assert_fails 32 "datasetfs: mountpoint '/dev/fd/$number': " datasetfs volume "/dev/fd/$number"
done
assert_fails 32 "mountpoint '/dev/fd/9' cannot be combined with the mount option 'kernel'" \
    datasetfs -o kernel volume /dev/fd/9 9<>/dev/fuse
assert_fails 32 "Operation not permitted" datasetfs volume /dev/fd/9 9<>/dev/fuse
