#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: timeout=300
# One mount per key, shared by any number of consumers: who asks twice gets the same, whoever comes at the same time as
# well, the last one to go ends it. A killed daemon, attach or detach is made good by the next call. Nothing of a job
# reaches the daemon, and what a job leaves is cleared away. remove and compact know the consumers.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_root
own_machine
. "$LIB/steps.sh"
. "$LIB/attach.sh"

mkdir -p source/folder
for i in {1..50}; do echo "file $i" >"source/$i"; done
pack volume source --label v1
echo new >source/new
pack volume source --label v2
V=$PWD/volume

stand_in
attach() { datasetfsctl attach "$@" >>attach.log; }
detach() { datasetfsctl detach "$@" >>attach.log; }
# attached FIELD…: of the JSON
attached() { datasetfsctl attached --json | json "$@"; }
places() { for i in $(seq "$1"); do mkdir -p "p/$i"; done; }

say "one mount for three places, by any spelling of the same wish"
mkdir a b c
attach "$V" a
attach -o version=v2,readahead=4M volume "$PWD/b"
attach -o readahead=4M,version=v2 "$V" c
assert_eq "daemons started" "$(starts)" 2
cmp source/new a/new
cmp source/new c/new
assert_eq "version" "$(json label <a/.datasetfs/version)" v2
attach "$V" a
attach "$V" "$PWD/../$(basename "$PWD")/a/."
assert_eq "mounts on a" "$(grep -c " $PWD/a " /proc/self/mountinfo)" 1
assert_eq "daemons started" "$(starts)" 2
attach --want version=v2 -o readahead=4M "$V" b
assert_eq "daemons started" "$(starts)" 2
detach b
detach c
wait_for 20 eval '[ "$(daemons)" = 2 ]' || fail "daemons: $(daemons)"
assert_contains "detached twice" "$(datasetfsctl detach c)" "nothing is attached to 'c'"
attach -o follow=current "$V" b
assert_eq "the current one" "$(json label <b/.datasetfs/version)" v2
detach b

say "control, libdatasetfs and datasetfs-run work through the bind"
if [ -e "$DATASETFS_BUILD/src/preload/libdatasetfs-preload.so" ]; then
    assert_eq "past the mount" "$(datasetfs-run --report=report grep new a/new)" new
    assert_eq "files past the mount" "$(json opened <report) $(json read <report)" "1 1"
fi
datasetfsctl status a >/dev/null
mount=$(attached mounts.0.mount)
chmod 755 . "$DATASETFS_TEST_DIR"
as_user cat a/1 >/dev/null || fail "a user may not read what is attached"
assert_fails 1 "Permission denied" as_user cat "$mount/1"
as_user datasetfsctl status a >/dev/null || fail "a user may not ask what is attached"
assert_eq "as a user sees it" "$(as_user datasetfsctl attached --json | json mounts.0.state)" hidden
# As tmpfiles.d makes the folder, for the exporter's group.
chgrp "$(as_user id -g)" /run/datasetfs/attach
chmod 710 /run/datasetfs/attach
as_user cat "$mount/.datasetfs/metrics" >/dev/null || fail "the exporter's user cannot ask the mount"

say "remove and compact name the consumers"
datasetfsctl current volume v1 >/dev/null
attach -o version=v2 "$V" b
said=$(! datasetfsctl remove volume v2 2>&1)
assert_contains "remove" "$said" "serves version 'v2', attached to '$PWD/a' and 1 more"
assert_contains "remove" "$said" "1 mount of this machine would lose what it serves"
detach b
detach a
all_is_gone

say "refusals"
assert_fails 1 "only root can do that" as_user datasetfsctl attach "$V" a
assert_fails 1 "only root can do that" as_user datasetfsctl detach a
mkdir -p other deep
echo file >plain
ln -s a link
ln -s "$PWD" deep/link
assert_fails 1 "has no version 'v9': choose one that it has, v1, v2" datasetfsctl attach -o version=v9 "$V" a
assert_fails 1 "there is no such file or device" datasetfsctl attach nowhere a
assert_fails 1 "'plain' is not a directory" datasetfsctl attach "$V" plain
assert_fails 1 "'nowhere' does not exist: 'mkdir -p nowhere' makes it" datasetfsctl attach "$V" nowhere
assert_fails 1 "a symbolic link is on the way" datasetfsctl attach "$V" link
assert_fails 1 "the path is empty" datasetfsctl attach "$V" ""
assert_fails 1 "'plain/x' is not a directory" datasetfsctl attach "$V" plain/x
assert_fails 1 "a symbolic link is on the way" datasetfsctl attach "$V" deep/link/a
assert_fails 1 "which holds the mounts themselves" datasetfsctl attach "$V" /run/datasetfs/attach
assert_fails 1 "'/' cannot be covered" datasetfsctl attach "$V" /
assert_fails 2 "option 'io' is given twice" datasetfsctl attach -o io=auto,io=threads "$V" a
assert_fails 2 "'follow' cannot be combined with 'version'" datasetfsctl attach -o follow=current,version=v1 "$V" a
assert_fails 2 "holds a control character" datasetfsctl attach -o version=$'v1\nsuid' "$V" a
assert_fails 2 "option 'suid' is for the administrator of the machine" datasetfsctl attach --want suid "$V" a
assert_fails 2 "an option holds a comma" datasetfsctl attach --want version=v1,suid "$V" a
assert_fails 2 "option 'version' is given twice" datasetfsctl attach --want version=v1 -o version=v2 "$V" a
assert_fails 2 "expected VOLUME TARGET" datasetfsctl attach "$V"
assert_fails 1 "-o nonsense: unknown" datasetfsctl attach -o nonsense "$V" a
assert_fails 1 "has the digest sha256:" datasetfsctl attach -o "digest=sha256:$(printf '%064d' 1)" "$V" a
assert_fails 1 "a symbolic link is on the way" datasetfsctl detach link
assert_fails 1 "is no name of a shared mount" datasetfsctl attach --serve ../../etc
attach "$V" a
assert_fails 1 "another data set is mounted on '$PWD/a': 'datasetfsctl detach $PWD/a' ends that" \
    datasetfsctl attach -o version=v2 "$V" a
mount_volume "$V" other
assert_fails 1 "'umount $PWD/other' ends that" datasetfsctl attach "$V" other
assert_fails 1 "was not attached: 'umount $PWD/other' ends it" datasetfsctl detach other
unmount other
for part in .datasetfs/versions/v1 folder; do # nothing that attach has made
    mount --bind "a/$part" other
    assert_fails 1 "'umount $PWD/other' ends that" datasetfsctl attach "$V" other
    assert_fails 1 "was not attached: 'umount $PWD/other' ends it" datasetfsctl detach other
    umount other
done
mount -t tmpfs cover a
assert_fails 1 "another filesystem covers the data set" datasetfsctl detach a
assert_fails 1 "another filesystem covers the data set" datasetfsctl attach "$V" a
umount a
detach a
all_is_gone

say "consumers have no more mounts of a volume than its administrator allows"
places 4
attach --want version=v1 -o max_mounts=2 "$V" p/1
attach --want follow=current -o max_mounts=2 "$V" p/2
began=$(starts)
refusal="the machine has 2 mounts of '$V' already, and consumers may have 2: end some, or have the administrator raise \
max_mounts="
assert_fails 1 "$refusal" datasetfsctl attach --want version=v2 -o max_mounts=2 "$V" p/3
assert_eq "daemons started" "$(starts)" "$began"
attach --want version=v1 -o max_mounts=1 "$V" p/3
attach -o version=v2,max_mounts=1 "$V" p/4
assert_eq "of one who has a mount, and of root" "$(starts)" $((began + 1))
attach -o version=v2,max_mounts=9 "$V" p/4
assert_eq "the limit makes no other mount" "$(starts)" $((began + 1))
cp "$V" another
attach --want version=v2 -o max_mounts=1 "$PWD/another" a
for place in a p/{1..4}; do detach $place; done
all_is_gone

if can_loop && (need_filesystem erofs) >/dev/null; then
    . "$LIB/kernel.sh"
    # kernel_is_gone: no mount, image or loop device of the volume is left, and no record
    kernel_is_gone() {
        all_is_gone
        wait_for 10 kernel_has_images 0 || fail "images are left: $(losetup)"
        wait_for 10 has_no_loops "$V" || fail "loop devices are left: $(losetup)"
        assert_eq "records" "$(kernel_records)" ""
    }

    say "by the kernel: one mount beside the daemon's, by any spelling, of which nothing is left"
    before=$(starts)
    attach -o version=v2 "$V" a
    attach -o version=v2,kernel "$V" b
    attach --want engine=kernel --want version=v2 -o kernel "$V" c
    attach --want engine=fuse --want version=v2 "$V" p/1
    for place in a b c p/1; do cmp source/new $place/new; done
    assert_eq "mounts started" "$(starts)" $((before + 2))
    assert_eq "types" "$(for place in a b c p/1; do findmnt -no FSTYPE $place; done | xargs)" \
        "fuse.datasetfs erofs erofs fuse.datasetfs"
    assert_eq "engines" "$(attached mounts.0.engine) $(attached mounts.1.engine)" "fuse kernel"
    assert_contains "attached" "$(datasetfsctl attached)" "the kernel serves version 'v2' of '$V' on '/run/"
    assert_contains "status" "$(datasetfsctl status b)" "v2, sequence "
    assert_eq "daemons" "$(daemons)" 2
    detach b
    cmp source/new c/new
    assert_eq "images" "$(kernel_images)" 1
    detach c
    wait_for 10 kernel_has_images 0 || fail "the image is left: $(losetup)"
    detach a
    detach p/1
    kernel_is_gone

    say "by the kernel: many at once, killed at each step, from other namespaces"
    before=$(starts)
    for i in {1..4}; do attach -o kernel "$V" "p/$i" & done
    wait
    for i in {1..4}; do cmp source/1 "p/$i/1"; done
    assert_eq "mounts started" "$(starts)" $((before + 1))
    for i in {1..4}; do detach "p/$i" & done
    wait
    kernel_is_gone
    for step in attach-locked attach-mounted attach-bound; do
        at_step $step k
        exits 137 bash -c 'exec datasetfsctl attach -o kernel "$0" a 2>/dev/null' "$V"
        attach -o kernel "$V" a
        cmp source/1 a/1
        assert_eq "$step: mounts on a" "$(grep -c " $PWD/a " /proc/self/mountinfo)" 1
        detach a
        kernel_is_gone
    done
    touch hold
    before=$(starts)
    datasetfsctl attach -o kernel "$V" a 2>killed.log & first=$!
    more_starts_than "$before"
    kill -KILL "$(tail -n 1 starts)"
    ! wait $first || fail "the mount was made by a process that was killed"
    assert_contains "the reason" "$(cat killed.log)" "datasetfs was killed by signal 9"
    rm hold
    unshare --mount --propagation private bash -c 'datasetfsctl attach -o kernel "$0" b && cmp source/1 b/1' "$V" \
        >>attach.log
    wait_for 20 eval 'detach --ended && nothing_is_left' || fail "left: $(find /run/datasetfs/attach)"
    if [ -z "${DATASETFS_SANITIZER:-}" ]; then # LeakSanitizer needs the /proc of its own PID namespace
        unshare --pid --fork datasetfsctl attach -o kernel "$V" a >>attach.log
        cmp source/1 a/1
        detach a
    fi
    kernel_is_gone

    say "by the kernel: who has a version keeps it, and who comes later gets the current one"
    truncate -s 64M beside
    loop_device beside # publishes past the lock on the file, as another host does
    pack "$LOOP" source --label v1
    attach -o kernel "$PWD/beside" a
    cp -r source newer
    echo newer >newer/newer
    pack "$LOOP" newer --label v2
    attach -o kernel "$PWD/beside" b
    cmp newer/newer b/newer
    [ ! -e a/newer ] || fail "what was attached has the new version"
    for place in a b "$(attached mounts.0.mount)"; do
        assert_fails 1 "it is attached, and the kernel serves it: those who have it keep their version" \
            datasetfsctl switch "$place" v2
        assert_fails 1 "it is attached, and the kernel serves it" datasetfsctl follow "$place"
    done
    detach a
    detach b
    kernel_is_gone
    loop_end "$LOOP"
    wait_for 10 has_no_loops beside || fail "loop devices are left: $(losetup)"

    say "by the kernel: a mount of which a device is gone serves nobody new"
    before=$(starts)
    attach -o kernel "$V" a
    sed -i '/^members /s/[0-9]*$/1/' /run/datasetfs/shown/* # the number of the disk that had this name
    assert_contains "attached" "$(datasetfsctl attached)" "is dead: a device of the mount is gone"
    attach -o kernel "$V" b
    attach -o kernel "$V" a
    assert_eq "mounts started" "$(starts)" $((before + 2))
    assert_eq "mounts" "$(datasetfsctl attached | grep -c 'the kernel serves')" 1
    assert_fails 1 "another data set is mounted on '$PWD/a'" datasetfsctl attach -o kernel,version=v2 "$V" a
    sed -i '/^members /s/[0-9]*$/1/' /run/datasetfs/shown/*
    unshare --mount --propagation private bash -c \
        'datasetfsctl attach -o kernel,version=v2 "$0" b && cmp source/new b/new' "$V" >>attach.log
    attach -o kernel,version=v2 "$V" a
    cmp source/new a/new
    detach a
    detach b
    wait_for 20 eval 'detach --ended && nothing_is_left' || fail "left: $(find /run/datasetfs/attach)"
    kernel_is_gone

    say "by the kernel: refusals"
    for option in cache=/x direct_group=1 readahead=4M; do
        assert_fails 1 "mount option 'kernel' cannot be combined with '${option%=*}': no daemon runs" \
            datasetfsctl attach -o kernel,$option "$V" a
    done
    assert_fails 2 "option 'follow' cannot be combined with 'kernel', as what was attached keeps its version" \
        datasetfsctl attach -o kernel,follow=current "$V" a
    assert_fails 2 "option 'engine=xfs': expected engine=kernel or engine=fuse" \
        datasetfsctl attach --want engine=xfs "$V" a
    assert_fails 2 "option 'kernel': the other engine was chosen before, by 'engine=fuse'" \
        datasetfsctl attach -o kernel --want engine=fuse "$V" a
    assert_fails 2 "where 'trust' says who may sign, as the kernel verifies no content" \
        datasetfsctl attach --want engine=kernel -o trust=/etc/datasetfs/signers "$V" a
    kernel_is_gone
else
    say "the kernel has no erofs, or no loop device: mounts by the kernel were left out"
fi

say "many at once"
count=64
places $count
for i in $(seq $count); do attach "$V" "$PWD/p/$i" & done
wait
before=$(starts)
assert_eq "daemons" "$(daemons)" 2
assert_eq "consumers" "$(datasetfsctl attached | grep -c "  '$PWD/p/")" $count
for i in $(seq $count); do cmp source/1 "p/$i/1"; done

say "killed daemons: new consumers get another one, old ones when they come again, and each can be detached"
for round in $(seq "$(length 4 20)"); do
    kill_all
    assert_contains "round $round" "$(datasetfsctl attached)" "is dead: the daemon of the mount is gone"
    one=$((round % count + 1)) two=$((round * 7 % count + 1))
    detach "p/$one"
    attach "$V" "$PWD/p/$two"
    cmp source/1 "p/$two/1"
    assert_eq "daemons" "$(daemons)" 2
done
for i in $(seq $count); do attach "$V" "$PWD/p/$i" & done
wait
for i in $(seq $count); do cmp source/1 "p/$i/1"; done
assert_eq "daemons started" "$(starts)" $((before + $(length 4 20)))
assert_eq "daemons" "$(daemons)" 2
assert_eq "mounts" "$(datasetfsctl attached | grep -c 'serves version')" 1
kill_all
for i in $(seq $count); do detach "p/$i" & done
wait
all_is_gone

say "attach and detach against each other"
# come_and_go NUMBER
come_and_go() {
    local turn
    for turn in $(seq "$(length 10 100)"); do
        attach -o "version=v$((turn % 2 + 1))" "$V" "$PWD/p/$1" || return 1
        cmp source/1 "p/$1/1" || return 1
        detach "$PWD/p/$1" || return 1
    done
}
workers=()
for i in 1 2 3 4; do come_and_go $i >>attach.log 2>&1 & workers+=($!); done
for worker in "${workers[@]}"; do wait "$worker" || fail "a worker: $(tail -n 3 attach.log)"; done
all_is_gone

say "a detach that comes late leaves the mount that another attach has begun since"
attach "$V" a
attach "$V" b
at_step detach-uncovered s
(exec datasetfsctl detach a) >>attach.log 2>&1 & first=$!
wait_for 20 is_stopped $first || fail "no stop"
detach b
touch hold
before=$(starts)
attach "$V" c & second=$!
more_starts_than "$before"
kill -CONT $first
wait $first
rm hold
wait $second || fail "the attach: $(tail -n 3 attach.log)"
cmp source/1 c/1
detach c
all_is_gone

say "one place, two data sets: one of them wins"
for _ in $(seq "$(length 5 50)"); do
    datasetfsctl attach -o version=v1 "$V" a >/dev/null 2>>attach.log & one=$!
    datasetfsctl attach -o version=v2 "$V" a >/dev/null 2>>attach.log & two=$!
    rc=0
    wait $one || rc=1
    wait $two || rc=$((rc + 1))
    assert_eq "one is refused" $rc 1
    assert_contains "the other one" "$(tail -n 1 attach.log)" "another data set is mounted on"
    assert_eq "mounts on a" "$(grep -c " $PWD/a " /proc/self/mountinfo)" 1
    detach a
    all_is_gone
done

say "killed at each step, and called again"
for step in attach-locked attach-mounted attach-bound; do
    before=$(starts)
    at_step $step k
    rc=0
    (exec datasetfsctl attach "$V" a) >>attach.log 2>&1 || rc=$?
    assert_eq "$step" $rc 137
    attach "$V" a
    cmp source/1 a/1
    assert_eq "$step: daemons started" "$(starts)" $((before + 1))
    assert_eq "$step: mounts on a" "$(grep -c " $PWD/a " /proc/self/mountinfo)" 1
    at_step detach-uncovered k
    rc=0
    (exec datasetfsctl detach a) >>attach.log 2>&1 || rc=$?
    assert_eq "detach-uncovered" $rc 137
    detach a
    attach -o version=v2 "$V" b # whose reaping leaves it, as it is young
    assert_eq "$step: mounts" "$(datasetfsctl attached | grep -c 'serves version')" 2
    detach b
    touch -d '-11 minutes' /run/datasetfs/attach/*/1
    attach -o version=v2 "$V" b
    assert_eq "$step: mounts" "$(datasetfsctl attached | grep -c 'serves version')" 1
    detach b
    all_is_gone
done

say "a killed attach leaves a daemon that begins, and the next call waits for it"
before=$(starts)
touch hold
datasetfsctl attach "$V" a >>attach.log 2>&1 & first=$!
more_starts_than "$before"
kill -KILL $first
wait $first || true
attach "$V" b & second=$!
attach "$V" a & third=$!
rm hold
wait $second
wait $third
assert_eq "daemons started" "$(starts)" $((before + 1))
detach a
detach b
all_is_gone

say "while another daemon begins for a dead one, consumers of the dead one can be detached"
attach "$V" a
kill_all
touch hold
before=$(starts)
attach "$V" b & first=$!
more_starts_than "$before"
attach "$V" c & second=$!
detach a & third=$!
ends $third "the detach waits for the other daemon"
assert_eq "dead mounts" "$(grep -F " - fuse.datasetfs $V" /proc/self/mountinfo)" "" # those of others are none of ours
rm hold
wait $first
wait $second
assert_eq "daemons started" "$(starts)" $((before + 1))
detach b
detach c
all_is_gone

say "a daemon that hangs: new consumers get another one, and the old mount can be detached"
attach "$V" a
stop_all
assert_contains "attached" "$(DATASETFS_ATTACH_PATIENCE=500 datasetfsctl attached)" \
    "is silent: the mount does not answer"
DATASETFS_ATTACH_PATIENCE=3000 attach "$V" b # which the other one has to answer it
cmp source/1 b/1
DATASETFS_ATTACH_PATIENCE=3600000 attach "$V" c & third=$! # the one that serves answers, and nobody waits for the other
ends $third "the attach waits for the mount that hangs"
cmp source/1 c/1
detach c
detach a
pkill -CONT -x datasetfs
detach b
all_is_gone

say "who hangs at a place holds up nobody at another one, and who waits for that place neither"
at_step attach-bound s
(exec datasetfsctl attach "$V" a) >>attach.log 2>&1 & first=$!
wait_for 20 is_stopped $first || fail "no stop"
attach -o version=v2 "$V" a 2>>attach.log & second=$!
wait_for 20 grep -q '^flock\|^[^:]*: -> OFDLCK' /proc/locks || fail "nobody waits for the place: $(cat /proc/locks)"
attach -o version=v2 "$V" b & third=$!
ends $third "an attach waits for another place"
cmp source/new b/new
kill -CONT $first
wait $first
! wait $second || fail "two data sets in one place"
assert_contains "the other one" "$(tail -n 1 attach.log)" "another data set is mounted on"
detach a
detach b
all_is_gone

say "a mount that was switched, and a label with another version, are not what a new consumer asks for"
attach -o version=v1 "$V" a
datasetfsctl switch a v2 >/dev/null
attach -o version=v1 "$V" b
assert_eq "a" "$(json label <a/.datasetfs/version)" v2
assert_eq "b" "$(json label <b/.datasetfs/version)" v1
datasetfsctl current volume v2 >/dev/null
datasetfsctl remove --force volume v1 >/dev/null 2>&1
echo again >source/again
pack volume source --label v1
attach -o version=v1 "$V" c
cmp source/again c/again
[ ! -e b/again ] || fail "b has the new v1"
for place in a b c; do detach $place; done
all_is_gone

say "a job with a mount namespace of its own: the mount is the machine's, and goes when the job is over"
mkfifo go
mkdir job
datasetfsctl current volume v2 >/dev/null
unshare --mount --propagation private bash -c \
    'datasetfsctl attach -o version=v1 "$0" job && cmp source/1 job/1 &&
        datasetfsctl attach -o version=v1 "$0" job && touch again && read -r <go' "$V" >>attach.log 2>&1 & job=$!
wait_for 20 test -e again || fail "no consumer: $(cat attach.log)"
assert_eq "consumers" "$(datasetfsctl attached | grep -c "mount namespace")" 1
! is_mounted job || fail "the place of the job is seen outside"
assert_eq "process" "$(attached mounts.0.consumers.0.process)" $job
said=$(as_user datasetfsctl attached)
case $said in *ended*) fail "what a user is told of a job that runs: $said" ;; esac
as_user datasetfsctl attached --json >said
assert_eq "process, as users see it" "$(json mounts.0.consumers.0.process <said)" None
said=$(! datasetfsctl remove volume v1 2>&1)
assert_contains "remove" "$said" "serves version 'v1', attached in 1 other mount namespace"
attach -o version=v1 "$V" a
assert_eq "daemons" "$(daemons)" 2
detach a
assert_eq "mounts" "$(datasetfsctl attached | grep -c 'serves version')" 1
kill -KILL $job
wait $job 2>/dev/null || true
attach -o version=v2 "$V" b
assert_eq "consumers" "$(datasetfsctl attached | grep "^  ")" "  '$PWD/b'"
detach b
unshare --mount --propagation private \
    bash -c 'datasetfsctl attach "$0" job && datasetfsctl detach job' "$V" >>attach.log
all_is_gone

# LeakSanitizer does not work under strace.
if [ "$DATASETFS_BUILD_NAME" = gcc ] && (strace -o none true) 2>/dev/null; then
    say "consumers in namespaces of their own cost one look at all processes"
    for i in 1 2 3; do
        unshare --mount --propagation private \
            bash -c "datasetfsctl attach \"\$0\" job && touch job.$i && read -r <go" "$V" >>attach.log 2>&1 & jobs[i]=$!
    done
    for i in 1 2 3; do wait_for 20 test -e job.$i || fail "no consumer: $(cat attach.log)"; done
    attach -o version=v1 "$V" b
    assert_eq "consumers" "$(datasetfsctl attached | grep -c "mount namespace")" 3
    strace -f -e trace=file -o trace datasetfsctl detach b
    assert_eq "looks at process 1" "$(grep -c '"1/ns/mnt"' trace)" 1
    kill -KILL "${jobs[@]}"
    wait "${jobs[@]}" 2>/dev/null || true
    wait_for 20 eval 'detach --ended && nothing_is_left' || fail "left: $(find /run/datasetfs/attach)"
fi

say "an attach that was killed before it has bound the mount for its namespace"
attach "$V" a
for folder in /run/datasetfs/attach/*/1/users; do mkdir "$folder/1"; done
detach a
all_is_gone

say "where mounts are shared, as systemd makes them, no consumer sees what is mounted in another's place"
mount --make-rshared /
attach "$V" a
attach "$V" b
mount -t tmpfs cover a/folder
assert_eq "places of the cover" "$(grep -c ' - tmpfs cover ' /proc/self/mountinfo)" 1
umount a/folder
detach a
detach b
all_is_gone
mount --make-rprivate /

say "a copy for a container with a user namespace"
attach "$V" a
mkdir copy
if said=$(python3 "$LIB/idmapped.py" a copy 100000 2>&1); then
    assert_eq "owner" "$(stat -c %u copy/1)" $(($(stat -c %u source/1) + 100000))
    cmp source/1 copy/1
    umount copy
else
    assert_eq "a kernel before 6.12" "$said" "Invalid argument"
fi
detach a
all_is_gone

say "what a killed job leaves is cleared away on request"
unshare --mount --propagation private bash -c 'datasetfsctl attach "$0" job' "$V" >>attach.log
wait_for 20 eval 'detach --ended && nothing_is_left' || fail "left: $(find /run/datasetfs/attach)"
assert_fails 2 "expected TARGET, or --ended alone" datasetfsctl detach
assert_fails 2 "expected TARGET, or --ended alone" datasetfsctl detach --ended job

say "a data set by the name that the administrator gave it"
own_names
: >/etc/datasetfs/datasets.conf
assert_fails 1 "no data set 'train' on this node, as '/etc/datasetfs/datasets.conf' names none" \
    datasetfsctl attach -n train a
echo "train $V readahead=4M" >/etc/datasetfs/datasets.conf
attach --named --want version=v1 train a
attach -o version=v1,readahead=4M "$V" b
assert_eq "mounts" "$(datasetfsctl attached | grep -c 'serves version')" 1
assert_fails 1 "no data set 'web' on this node; available: train. Ask your administrator" datasetfsctl attach -n web a
assert_fails 1 "expected 1 to 127 letters" datasetfsctl attach -n "$V" a
detach a
detach b

say "a data set whose members may read past the mount"
printf 'train %s\ndirect %s direct_group=4343\n' "$V" "$V" >/etc/datasetfs/datasets.conf
before=$(starts)
attach --named train a
attach --named direct b
assert_eq "daemons started: the group is part of the key" "$(starts)" $((before + 2))
assert_fails 2 "option 'direct_group=4343' is for the administrator" \
    datasetfsctl attach --want direct_group=4343 --named train c
if [ -e "$DATASETFS_BUILD/src/preload/libdatasetfs-preload.so" ]; then
    # opened PLACE GROUP: how many files a user with this group reads past the mount
    opened() {
        rm -f theirs
        setpriv --reuid 65534 --regid 65534 --groups "$2" datasetfs-run --report="$PWD/theirs" cat "$1/new" >/dev/null
        json opened <theirs
    }
    chmod 777 .
    assert_eq "a member" "$(opened b 4343)" 1
    assert_eq "others" "$(opened b 4242) $(opened a 4343)" "0 0"
fi
detach a
detach b

if command -v ssh-keygen >/dev/null; then
    say "a data set that somebody must have signed"
    ssh-keygen -q -t ed25519 -N '' -C alice -f alice
    echo "alice $(cut -d' ' -f1,2 alice.pub)" >/etc/datasetfs/signers
    echo "# nobody" >/etc/datasetfs/revoked
    chmod 644 /etc/datasetfs/signers /etc/datasetfs/revoked
    echo "signed $V trust=/etc/datasetfs/signers,revoked=/etc/datasetfs/revoked" >/etc/datasetfs/datasets.conf
    before=$(starts)
    assert_fails 1 "volume '$V': version 'v2' is not trusted: it is not signed" datasetfsctl attach -n signed a
    assert_eq "daemons started" "$(starts)" "$before"
    datasetfsctl sign volume v1 --key alice >/dev/null
    attach --named --want version=v1 signed a
    attach --named --want version=v1 signed b
    assert_eq "daemons started" "$(starts)" $((before + 1))
    cut -d' ' -f1,2 alice.pub >/etc/datasetfs/revoked
    assert_fails 1 "is revoked" datasetfsctl attach --named --want version=v1 signed c
    cmp source/1 a/1 || fail "those who have it"
    for want in trust=/etc/datasetfs/signers revoked=/etc/datasetfs/revoked; do
        assert_fails 2 "option '$want' is for the administrator" datasetfsctl attach --want $want "$V" c
    done
    assert_fails 2 "expected 'trust=' and an absolute path" datasetfsctl attach -o trust=alice.pub "$V" c
    detach a
    detach b

    say "a mount that follows, after a key was revoked"
    ssh-keygen -q -t ed25519 -N '' -C carol -f carol
    echo "carol $(cut -d' ' -f1,2 carol.pub)" >>/etc/datasetfs/signers
    echo "# nobody" >/etc/datasetfs/revoked
    datasetfsctl sign volume v2 --key alice >/dev/null
    attach --named --want follow=current signed a
    attach --named --want follow=current signed b
    cut -d' ' -f1,2 alice.pub >/etc/datasetfs/revoked
    for place in b c; do
        assert_fails 1 "is revoked" datasetfsctl attach --named --want follow=current signed $place
    done
    [ -z "$(ls -A c)" ] || fail "a new consumer sees $(ls c)"
    [ -n "$(ls -A a)" ] && [ -n "$(ls -A b)" ] || fail "those who have it"
    datasetfsctl sign volume v2 --key carol >/dev/null
    before=$(starts)
    attach --named --want follow=current signed c
    assert_eq "daemons started for a version that counts again" "$(starts)" "$before"
    for place in a b c; do detach $place; done
fi
umount /etc

say "with systemd each mount is a unit"
unit=$PWD/unit
sed "s,^Environment=PATH=,&$PWD/bin:," "$DATASETFS_BUILD/contrib/datasetfs-attach@.service" >unit
mkdir -p /run/systemd/system
cat >bin/systemctl <<END
#!/bin/bash
[ "\$1 \$2" = "start --" ] || exit 1
name=\${3#datasetfs-attach@} name=\${name%.service}
echo "\$name" >>units
PATH=$PATH DATASETFS_BUILD=$DATASETFS_BUILD python3 "$LIB/unit.py" "$unit" "\$name" ExecStart >>unit.log 2>&1 &
until grep -q "attach/\${name/-//}/mount " /proc/self/mountinfo; do
    kill -0 \$! 2>/dev/null || { echo "Job for \$3 failed because of the test." >&2; exit 1; }
    sleep 0.05
done
END
chmod +x bin/systemctl
attach "$V" a
attach "$V" b
cmp source/1 a/1
assert_eq "units" "$(wc -l <units)" 1
assert_contains "the daemon" "$(tr '\0' ' ' </proc/"$(pgrep -ox datasetfs)"/cmdline)" \
    "datasetfs --foreground -o version=v2 -o idmap -- $V /run/datasetfs/attach/$(sed 's,-,/,' units)/mount"
python3 "$LIB/unit.py" "$unit" "$(cat units)" ExecReload || fail "ExecReload"
detach a
detach b
all_is_gone
if declare -F kernel_is_gone >/dev/null; then
    attach -o kernel "$V" a
    assert_eq "units, as no process stays" "$(wc -l <units)" 1
    detach a
    kernel_is_gone
fi
attach -o follow=current "$V" a
python3 "$LIB/unit.py" "$unit" "$(tail -n 1 units)" ExecStop || fail "ExecStop"
attach -o follow=current "$V" b
cmp source/1 a/1
assert_eq "units" "$(wc -l <units)" 3
detach a
detach b
all_is_gone
assert_fails 1 "says why: Job for datasetfs-attach@" datasetfsctl attach -o nonsense "$V" a
rm -r /run/systemd
all_is_gone

say "the daemon has nothing of who asked"
unshare --net --ipc --uts datasetfsctl attach "$V" a >>attach.log
for process in $(pgrep -x datasetfs); do
    for kind in cgroup ipc mnt net pid uts; do
        assert_eq "$kind namespace" "$(readlink "/proc/$process/ns/$kind")" "$(readlink /proc/1/ns/$kind)"
    done
done
detach a
assert_fails 1 "the daemon would end with the caller's PID namespace" \
    unshare --pid --fork datasetfsctl attach "$V" a
all_is_gone
group=/sys/fs/cgroup/pids/datasetfs-test-$$
if mkdir "$group" 2>/dev/null; then
    exec {groups}</sys/fs/cgroup/pids
    at_exit rmdir "/proc/self/fd/$groups/${group##*/}"
    bash -c 'echo 0 >"$0/cgroup.procs"; ulimit -c 0 -n 77; exec taskset 1 env SECRET=x datasetfsctl attach "$1" a' \
        "$group" "$V" >>attach.log
    for process in $(pgrep -x datasetfs); do
        assert_eq "control groups" "$(cat /proc/"$process"/cgroup)" "$(cat /proc/1/cgroup)"
        ! grep -qz SECRET "/proc/$process/environ" || fail "the environment of who asked"
        assert_eq "CPUs" "$(grep Cpus_allowed_list "/proc/$process/status")" \
            "$(grep Cpus_allowed_list /proc/1/status)"
    done
    detach a
    all_is_gone
    assert_fails 1 "attach needs the control groups of process 1 (pids): mount or bind /sys/fs/cgroup here" bash -c \
        'echo 0 >"$0/cgroup.procs"; umount --recursive --lazy /sys/fs/cgroup; exec datasetfsctl attach "$1" a' \
        "$group" "$V"
    all_is_gone
else
    say "no control group can be made here: left out"
fi
