#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=gcc timeout=400
# A server is killed at each step of a command, of opening and closing a version, of an answer, and of a takeover:
# every command succeeds with its result, readers see nothing, and versions are closed in the end.
. "$(dirname "$0")/../lib/common.sh"
. "$LIB/steps.sh"
need_fuse
is_root || skip "only root has RESEND"

rounds=$(length 1 20)
small_files source 29 60 1
ln -s 3 source/link
count=0
# version: publishes the next one; they have the same files
version() {
    count=$((count + 1))
    echo $count >source/.number
    pack volume source --label v$count --no-current
}
version
datasetfsctl current volume v1
version
mount_volume volume mnt
assert_eq "what survives" "$(stats mnt survives)" requests
rm source/.number
python3 "$LIB/killed.py" mnt source 86400 >load.log 2>&1 &
LOAD=$!
end_process_at_exit $LOAD

# state: what the mount says of itself, in now, counted and label
state() {
    read -r now counted label < <(python3 - <<'END'
import json
stats = json.load(open("mnt/.datasetfs/stats.json"))
print(stats["restarts"], stats["switches"], json.load(open("mnt/.datasetfs/version"))["label"])
END
    )
}
died() {
    state
    [ "$now" -gt "$before" ]
}

# still_serves WHAT: with one server more, and the readers have seen nothing
before=0 switches=0
still_serves() {
    wait_for 20 passed "$1" || fail "step '$1' was not passed: $(tail -n 3 daemon.log)"
    wait_for 20 died || fail "no server died at '$1'"
    before=$now
    kill -0 $LOAD || fail "after '$1': $(cat load.log; tail -n 5 daemon.log)"
    assert_eq "version after '$1'" "$label" "$current"
    assert_eq "switches after '$1'" "$counted" $switches
}

# switched STEP VERSION: by a command that tells what it saw
current=v1
switched() {
    at_step "$1" k
    datasetfsctl switch mnt "$2" --if-current $current >switch.out 2>&1 || fail "at '$1': $(cat switch.out daemon.log)"
    current=$2
    switches=$((switches + 1))
    assert_eq "the file of the version after '$1'" "$(cat mnt/.number)" "${2#v}"
    still_serves "$1"
}
# other: of the first two versions
other() {
    if [ $current = v1 ]; then echo v2; else echo v1; fi
}

say "a switch and its answer"
steps="IOCTL command-came command-checked command-opened command-begun switch-noted switch-current switch-waited"
steps+=" announce-root announce-epoch switch-announced switch-told switch-counted switch-served command-done"
steps+=" result-written result-counts command-ended command-answer command-answered"
for ((round = 0; round < rounds; round++)); do
    for step in $steps; do
        switched $step "$(other)"
    done
done

say "a switch whose second server is killed as well"
for step in announce-root announce-epoch switch-announced switch-told switch-counted switch-served finish-switch \
    finish-command result-written result-counts finish-ended; do
    at_step switch-current k
    switched $step "$(other)"
    passed switch-current || fail "step 'switch-current' was not passed"
done

say "a condition that fails does so once more"
for step in command-came result-counts command-answer; do
    at_step $step k
    assert_fails 1 "the mount serves '$current', expected 'v9'" \
        datasetfsctl switch mnt "$(other)" --if-current v9
    still_serves $step
done

say "opening a version: by a switch, by --prepare, by a visit"
opening="version-recorded version-put index-put version-written"
for step in $opening; do
    version
    switched $step v$count
done
for step in $opening command-prepared command-kept result-counts command-answer; do
    version
    at_step $step k
    datasetfsctl switch --prepare mnt v$count >switch.out 2>&1 || fail "at '$step': $(cat switch.out daemon.log)"
    still_serves $step
    switches=$((switches + 1)) current=v$count
    datasetfsctl switch mnt v$count >/dev/null
done
for step in $opening LOOKUP; do
    version
    at_step $step k
    assert_eq "the visited file at '$step'" "$(cat mnt/.datasetfs/versions/v$count/.number)" $count
    still_serves $step
done

say "requests"
for step in READ LOOKUP GETATTR READLINK STATFS; do
    at_step $step k
    stat --cached=never mnt/3 >/dev/null
    ls -l mnt >/dev/null
    drop_caches 2
    readlink mnt/link >/dev/null
    stat -f mnt >/dev/null
    evict mnt
    cat mnt/large0 >/dev/null
    still_serves $step
done

say "a takeover, once and twice"
for step in takeover-begun takeover-record takeover-version session-mounted session-kept session-threads \
    session-serves session-resent; do
    for letters in k kk; do
        at_step $step $letters
        kill_server mnt
        still_serves $step
    done
done

say "closing versions"
for step in version-removed index-dropped; do
    version
    at_step $step k
    datasetfsctl switch mnt v$count >/dev/null
    switches=$((switches + 1)) current=v$count
    wait_for 60 passed $step || fail "no version is closed"
    still_serves $step
done
touch stop
wait $LOAD || fail "$(cat load.log)"
say "$before deaths: $(tail -n 1 load.log)"
# one_version: every version but the served one is closed
one_version() {
    [ "$(sed -n 's/^datasetfs_open_versions //p' mnt/.datasetfs/metrics)" = 1 ]
}
wait_for 60 one_version || fail "old versions stay open: $(cat mnt/.datasetfs/stats.json)"
# one_is_kept: and the supervisor has descriptors of no other
one_is_kept() {
    [ "$(find "/proc/$DAEMON/fd" -lname '*memfd:datasetfs-version*' | wc -l)" = 1 ]
}
wait_for 5 one_is_kept || fail "kept: $(ls -l "/proc/$DAEMON/fd")"
! grep -E "wrong|refused|lost|cannot" daemon.log || fail "see above"
unmount mnt

say "a prepared version that was undone on the volume"
cp volume kept
mount_volume volume mnt
version
datasetfsctl switch --prepare mnt v$count >/dev/null
dd if=kept of=volume conv=notrunc status=none
version
at_step version-recorded k # the other one is closed by then
datasetfsctl switch mnt v$count >switch.out 2>&1 || fail "$(cat switch.out daemon.log)"
passed version-recorded || fail "step 'version-recorded' was not passed"
assert_eq "the file of the version" "$(cat mnt/.number)" $count
unmount mnt

say "a listing in several parts"
mkdir -p many/{1..4}
(cd many && touch {1..4}/file{0..999})
pack parts many
mount_volume parts mnt
# By the second letter from the right the second part is meant, and so on.
for letters in k k- k-- kkk; do
    folder=${#letters} before=$(restarts mnt)
    [ $letters != kkk ] || folder=4
    at_step READDIRPLUS $letters
    python3 - "many/$folder" "mnt/$folder" <<'P' || fail "another listing after '$letters': $(cat daemon.log)"
import os
import sys

expected, found = (os.listdir(path) for path in sys.argv[1:])
sys.exit(sorted(expected) != sorted(found))
P
    passed READDIRPLUS || fail "the listing came in fewer parts than ${#letters}"
    assert_eq "servers that died in a listing" "$(restarts mnt)" $((before + $(tr -dc k <<<$letters | wc -c)))
done
compare many mnt
unmount mnt
