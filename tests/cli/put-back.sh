#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# Whatever ends a publish early, --format of an existing volume included: the volume is what it was, and nothing else
# is left.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
mkdir source broken
for i in $(seq 300); do head -c 20000 /dev/urandom >"source/$i"; done
echo x >broken/file
mkfifo broken/fifo
pack volume source --label one
before=$(hash_of volume)

assert_fails 1 "fifo" mkdatasetfs --progress none --format --special=fail volume broken
assert_eq "the volume after a failed --format" "$(hash_of volume)" "$before"
echo "something else" >foreign
assert_fails 1 "fifo" mkdatasetfs --progress none --force --special=fail foreign broken
assert_eq "the file after a failed --force" "$(cat foreign)" "something else"

assert_eq "mode of a new volume" "$(stat -c %a volume)" 600
(umask 0 && pack private source)
assert_eq "mode of a new volume with umask 0" "$(stat -c %a private)" 600
chmod 640 volume
pack volume broken --format
assert_eq "versions after --format" "$(datasetfsctl list --json volume | json versions.0.label)" v1
assert_eq "mode after --format" "$(stat -c %a volume)" 640

ln -s nowhere dangling
assert_fails 1 "dangling symlink" mkdatasetfs --progress none dangling source
ln -s volume link
pack link source --format
[ -L link ] || fail "--format replaced a symlink instead of the volume behind it"

# interrupted WHEN SIGNAL [VAR=VALUE…]: that signal ends a packer that reads the list of files;
# WHEN is a command that succeeds as soon as it may come
interrupted() {
    local rc=0 pack
    env --default-signal=INT,QUIT "${@:3}" mkdatasetfs --progress none --from-list list volume source >out 2>err 9>&- &
    pack=$!
    wait_for 20 $1 $pack || fail "not $1 before SIG$2: $(cat err)"
    kill -"$2" $pack || fail "nobody to send SIG$2 to"
    # Only what stands still: LeakSanitizer, which stops a process as it ends,
    # would wait for one that was continued meanwhile.
    [ "$1" != is_stopped ] || kill -CONT $pack
    wait_end $pack || fail "SIG$2 is not noticed when it $1"
    wait $pack || rc=$?
    assert_eq "status after SIG$2 when it $1" $rc 1
    assert_eq "the line after SIG$2 when it $1" "$(cat err)" "mkdatasetfs: interrupted"
    assert_eq "the volume after SIG$2" "$(hash_of volume)" "$before"
}

# awaits PROCESS: it has the list open
awaits() {
    has_open mkdatasetfs "$1" list
}

# A hangup, and an interrupt while the list of files is awaited.
before=$(hash_of volume)
mkfifo list
exec 9<>list
for signal in HUP QUIT INT TERM; do
    interrupted awaits $signal
done
if [ "$DATASETFS_BUILD_NAME" = gcc ]; then
    say "a signal that comes before the packer reads the list, and where nobody writes one"
    cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/fault.c" -o fault.so || fail "fault.c does not compile"
    early=(LD_PRELOAD="$PWD/fault.so" FAULT_KIND=read FAULT_AT=1 FAULT_STOP=1 FAULT_VOLUME="$PWD/volume")
    interrupted is_stopped TERM "${early[@]}"
    exec 9>&-
    interrupted is_stopped TERM "${early[@]}"
    interrupted awaits TERM
    exec 9<>list
fi

# One that was ignored before, as by nohup(1), is no reason to stop.
(trap '' HUP; exec 9>&-; exec mkdatasetfs --progress none --from-list list --label after-hangup volume source) \
    >out 2>err &
pack=$!
wait_for 20 awaits $pack || fail "it does not read the list: $(cat err)"
kill -HUP $pack
printf '1\n2\n' >&9
exec 9>&-
exits 0 wait $pack
assert_eq "files of the version" "$(datasetfsctl list --json volume | json versions.1.files)" 2

# A publisher that was killed before it renamed the new file to the volume has left it behind: the next one publishes.
echo remainder >volume.new-mkdatasetfs
pack volume source --format --label after
assert_eq "the version" "$(datasetfsctl list --json volume | json versions.0.label)" after

# Somebody else's file with that name, in a folder that he may write to, stays, and keeps nobody from publishing.
if is_root; then
    echo theirs >volume.new-mkdatasetfs
    chown 65534 volume.new-mkdatasetfs
    pack volume source --format --label after
    assert_eq "the other one's file" "$(cat volume.new-mkdatasetfs)" theirs
    rm volume.new-mkdatasetfs
fi
left=$(find . -maxdepth 1 \( -name 'mkdatasetfs.*' -o -name '*.new-*' \))
[ -z "$left" ] || fail "left behind: $left"

# A progress that nobody reads is no reason to stop.
mkdatasetfs --progress json new.dsfs source 2> >(head -n 1 >/dev/null) >/dev/null || fail "SIGPIPE ended a publish"
datasetfsctl verify new.dsfs >/dev/null

JOURNAL_STREAM=8:1234 mkdatasetfs new.dsfs /nonexistent 2>err || true
grep -q '^mkdatasetfs: ' err || fail "a line without its program: $(cat err)"

# A device whose version somebody reads here may get a new one, but is not started afresh.
if can_loop && (need_fuse) >/dev/null; then
    truncate -s 64M disk
    loop_device "$PWD/disk"
    pack "$LOOP" source --label 7@night
    mount_volume "$LOOP" 'a mount' -o version=7@night
    assert_fails 1 "datasetfs serves it on '$PWD/a mount'" mkdatasetfs --progress none --format "$LOOP" broken
    pack "$LOOP" broken
    cmp 'a mount/7' source/7 || fail "the mount changed while a version was added"
    unmount 'a mount'
    pack "$LOOP" broken --format
fi

# A file that is mounted by itself cannot be replaced, and that is said before anything is packed.
if can_mount; then
    : >blank
    : >point
    at_exit umount point
    for what in blank volume; do
        mount --bind $what point
        before=$(hash_of $what)
        format=--format
        [ $what = volume ] || format=
        assert_fails 1 "this file is itself a bind mount" mkdatasetfs --progress none $format point source
        assert_eq "$what behind the mount" "$(hash_of $what)" "$before"
        umount point
    done
fi

# A producer that failed leaves an empty list: that is no reason to publish an empty version.
: >empty
assert_fails 1 "the list 'empty' is empty" mkdatasetfs --progress none --from-list empty new.dsfs source
