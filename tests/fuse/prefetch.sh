#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon channels in=tsan,gcc:ring timeout=240
# Files that a user announces are there when he reads them: stored where their names are known, kept where not; in the
# same order and with the same bytes; no more than may be kept, and not for ever; for the version that is mounted, by
# users who may read them; nothing of it when nobody announces anything.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/clock.sh"
need_fuse
hold_caches # what is stored stays stored

# announce WHAT MOUNT ARGUMENT…
announce() {
    python3 "$DATASETFS_SOURCE/tests/fuse/prefetch.py" "$@"
}

python3 - <<'END'
import os
for folder in range(4):
    os.makedirs(f"source/c{folder}")
    for i in range(60):
        with open(f"source/c{folder}/f{i}", "wb") as out:
            out.write(os.urandom(50 + i * 200))
os.makedirs("source/large")
for i in range(4):
    with open(f"source/large/f{i}", "wb") as out:
        out.write(os.urandom(131073 + i * 300000))
os.makedirs("megabytes")
for i in range(24):
    with open(f"megabytes/f{i:02}", "wb") as out:
        out.write(os.urandom(1000000))
END
ln -s c0/f0 source/link
chmod 640 source/c0/f1
chmod 600 source/c0/f2
pack volume source --label v1
pack megabytes.volume megabytes

mount_volume volume mnt
announce save mnt numbers || fail "cannot list"
rm -f mnt.digest
json digest mnt/.datasetfs/version >mnt.digest
unmount mnt
for how in known unknown; do
    mount_volume volume mnt -o readahead=off
    if [ $how = known ]; then announce known mnt source; else announce unknown mnt source numbers; fi ||
        fail "names that are $how"
    unmount mnt
    say "names that are $how"
done

# A loop that waits for nothing, on a device with a latency.
slow_device volume slow 1000
# On a machine that has other work as well, the loop may be the faster one: then again.
for _ in {1..10}; do
    mount_volume slow mnt
    rc=0
    announce epoch mnt source told || rc=$?
    unmount mnt
    [ $rc = 3 ] || break
done
[ $rc = 0 ] || fail "an epoch: status $rc"
mount_volume slow mnt
announce epoch mnt source silent || fail "an epoch that nobody announced"
for field in announced files bytes reads stored served dropped failures; do
    assert_eq "prefetch_$field when nobody announced anything" "$(stats mnt prefetch_$field)" 0
done
[ "$(stats mnt survives)" != requests ] || announce killed mnt source || fail "a server that dies"
unmount mnt
say "epochs"

# Bounds: all of what may be kept is for a user who may switch the mount.
mount_volume megabytes.volume mnt
announce save mnt megabytes.numbers || fail "cannot list"
unmount mnt
mount_volume megabytes.volume mnt -o readahead=off,prefetch=16M
announce bounded mnt megabytes megabytes.numbers $((16 << 20)) || fail "16 MiB may be kept"
unmount mnt
mount_volume megabytes.volume mnt -o readahead=off,prefetch=16M
announce asked mnt megabytes megabytes.numbers $((16 << 20)) || fail "READs of files that wait"
unmount mnt
say "bounds"

cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/hold.c" -o hold.so || fail "hold.c does not compile"
ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 LD_PRELOAD=$PWD/hold.so HOLD_VOLUME=$PWD/volume \
    HOLD_WHILE=$PWD/hold mount_volume volume mnt -o readahead=off,io=threads,workers=140
at_exit rm -f hold
announce owed mnt source "$PWD/hold" || fail "READs that are owed"
unmount mnt
say "READs that are owed"

group=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)/datasetfs-test-$$
limit=memory.limit_in_bytes
[ -d /sys/fs/cgroup/memory ] || {
    group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/datasetfs-test-$$
    limit=memory.max
}
if [ -z "${DATASETFS_SANITIZER:-}" ] && mkdir "$group" 2>/dev/null && [ -e "$group/$limit" ]; then
    at_exit rmdir "$group"
    mount_volume megabytes.volume mnt -o readahead=off
    echo $SERVER >"$group/cgroup.procs"
    echo $((12 << 20)) >"$group/$limit"
    announce starved mnt megabytes.numbers || fail "a control group without memory"
    echo $((1 << 30)) >"$group/$limit"
    announce fed mnt megabytes.numbers || fail "a control group with memory again"
    unmount mnt
    say "memory of the control group"

    # Each of eight users has a share, and all shares together are more than the group has. With a thread for each
    # read the buffers alone could be.
    python3 - <<'END'
import os
os.makedirs("crowd")
for i in range(8 * 48):
    with open(f"crowd/f{i:03}", "wb") as out:
        out.write(f"{i:015}\n".encode() * (1000000 // 16))
END
    pack crowd.volume crowd --compress zstd
    mount_volume crowd.volume mnt -o readahead=off,prefetch=8G,allow_other,workers=2
    echo $((256 << 20)) >"$group/$limit"
    echo $SERVER >"$group/cgroup.procs"
    announce crowd mnt crowd $((256 << 20)) "$SERVER" "$group" || fail "more than the control group has"
    unmount mnt
    say "memory that many users want"
else
    say "no control group can be made here: its memory was not tested"
fi

# dropped COUNT
dropped() {
    [ "$(stats mnt prefetch_dropped)" = "$1" ]
}
by_clock mount_volume volume mnt -o readahead=off
announce orphans mnt numbers || fail "orphans"
pass 31000
wait_for 20 dropped "$(python3 -c 'import json; print(len(json.load(open("numbers"))))')" ||
    fail "orphans that stay: $(stats mnt prefetch_dropped)"
compare source mnt
unmount mnt
say "orphans"

# Other versions, and a switch.
file=$(json c0/f0 numbers)
pack volume megabytes --label v2
mount_volume volume mnt -o version=v1
announce refused mnt ESTALE "sha256:$(printf '%064d' 1)" "$file" >reason || fail "$(cat reason)"
assert_contains "the reason" "$(cat reason)" "of a version with another digest than 'v1', which the mount serves"
datasetfsctl switch mnt v2 >/dev/null || fail "no switch"
announce refused mnt ESTALE "$(cat mnt.digest)" "$file" >reason || fail "$(cat reason)"
assert_contains "the reason after a switch" "$(cat reason)" "another digest than 'v2'"
announce refused mnt ESTALE "" "$file" >reason || fail "$(cat reason)"
assert_contains "the reason for a number of v1" "$(cat reason)" "is no file of version 'v2'"
assert_eq "files that were announced" "$(stats mnt prefetch_announced)" 0
unmount mnt

for value in off 0; do
    mount_volume volume mnt -o version=v1,prefetch=$value
    announce refused mnt ENOTSUP "" "$file" >reason || fail "$(cat reason)"
    assert_contains "the reason" "$(cat reason)" "prefetch=off"
    unmount mnt
done
for value in 1M 2T x; do
    assert_fails 2 "mount option 'prefetch': '$value': expected off, or 16M to 1T" \
        datasetfs -o prefetch=$value volume mnt
done
say "versions and the option"

mount_volume volume mnt -o version=v1
announce hostile mnt source "$(length 300 3000)" || fail "hostile commands"
unmount mnt
say "hostile commands"

# A damaged file fails when it is read, and no other does. It is found by its content.
python3 - <<'END' || fail "no such content on the volume"
bytes = open("source/c1/f59", "rb").read()
with open("volume", "r+b") as volume:
    at = volume.read().index(bytes[:4096])
    volume.seek(at + 100)
    volume.write(b"damage")
END
: >daemon.log
mount_volume volume mnt -o version=v1
announce damaged mnt source c1/f59 || fail "a damaged file"
wait_for 10 grep -q "read of '.*c1/f59' failed" daemon.log || fail "no line about the damaged file"
! grep "read of '" daemon.log | grep -v "c1/f59" || fail "a line about another file"
unmount mnt
say "damage"

# Users: root owns all these files.
is_root || skip "not root: other users were not tested"
mount_volume volume mnt -o version=v1,allow_other
user() { setpriv --reuid 65534 --regid 65534 "$@"; }
if ! user --clear-groups test -r mnt/c0/f0; then
    unmount mnt
    skip "another user cannot come here: other users were not tested"
fi
private=$(json c0/f2 numbers) members=$(json c0/f1 numbers)
export DATASETFS_SOURCE
export -f announce
user --clear-groups bash -c "announce refused mnt EACCES '' $file $private" >reason || fail "$(cat reason)"
assert_contains "the reason" "$(cat reason)" "is no regular file that user 65534 may read"
user --clear-groups bash -c "announce refused mnt EACCES '' $members" >reason || fail "$(cat reason)"
assert_eq "files that were announced" "$(stats mnt prefetch_announced)" 0
user --clear-groups bash -c "announce allowed mnt $file" || fail "a file that all may read"
user --groups 0 bash -c "announce allowed mnt $file $members" || fail "a file of a group"
announce allowed mnt "$members" "$private" || fail "root"
unmount mnt

# A user who announces one file at a time takes no more of the queue than others.
slow_device volume slower 300000
mount_volume slower mnt -o version=v1,allow_other
user --clear-groups bash -c "announce greedy mnt $(json c3/f50 numbers)" || fail "a greedy user"
announce allowed mnt "$members" || fail "root, beside a greedy user"
unmount mnt
say "users"
