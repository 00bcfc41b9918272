#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke daemon alone channels timeout=120
# The effect of a switch on open files, the cost of a failed one, permissions, and mounts that follow the volume.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_root
need_command python3

mkdir -p source1/d source2/d bound
for i in 1 2; do
    head -c 3000000 /dev/urandom >source$i/d/large
    echo "small $i" >source$i/d/small
    echo "only $i" >source$i/only$i
    for ((n = 0; n < i * 5; n++)); do echo $n >source$i/d/file$n; done
done
pack volume source1 --label v1
pack volume source2 --label v2 --no-current

label() {
    json label mnt/.datasetfs/version
}

open_versions() {
    python3 -c 'import json; print(len(json.load(open("mnt/.datasetfs/stats.json"))["generations"]))'
}

one_open() {
    [ "$(open_versions)" = 1 ]
}

# status MOUNT: the label that it serves and those of the open versions
status() {
    datasetfsctl status --json "$1" | python3 -c 'import json, sys
status = json.load(sys.stdin)
print(status["version"]["label"], "of", *[generation["label"] for generation in status["stats"]["generations"]])'
}

# space SOURCE: what statfs says of a mount of it, as found_space
space() {
    echo "$(find "$1" -type f -printf '%s\n' | awk '{ n += $1 } END { print int((n + 4095) / 4096) }') 0 0" \
        "$(find "$1" | wc -l) 0 4096 255"
}

found_space() {
    stat -f -c '%b %f %a %c %d %s %l' mnt
}

for notify in auto entries; do
    mount_volume volume mnt -o notify=$notify
    assert_eq label "$(label)" v1
    stat mnt/absent mnt/only2 >/dev/null 2>&1 || true # remembered as absent
    ls -R mnt >/dev/null
    assert_eq "statfs of v1" "$(found_space)" "$(space source1)"
    exec 5<mnt/d/large 6<mnt/d
    head -c 100 <&5 >begin
    mount --bind mnt/d bound
    at_exit umount bound
    (cd mnt/d && exec sleep 60) &
    walker=$!
    end_process_at_exit $walker
    datasetfsctl switch mnt v2 >switch.out || fail "switch"
    grep -q "serves version 'v2'" switch.out || fail "switch said: $(cat switch.out)"
    compare source2 mnt
    assert_eq label "$(label)" v2
    assert_eq "statfs of v2" "$(found_space)" "$(space source2)"
    cat begin - <&5 | cmp - source1/d/large || fail "$notify: an open file changed"
    assert_eq "a descriptor of a directory" "$(cat /proc/$$/fd/6/small)" "small 1"
    assert_eq "a working directory" "$(cat /proc/$walker/cwd/small)" "small 1"
    compare source1/d bound
    assert_eq "status with an old version in use" "$(status mnt)" "v2 of v1 v2"
    # Back again: what stayed open kept its pages, unless the kernel needed the memory meanwhile: hence several tries.
    for ((try = 0, reads = 0; try < 6 && reads != 1; try++)); do
        datasetfsctl switch mnt v1 >/dev/null
        cmp mnt/d/large source1/d/large || fail "$notify: not the old version again"
        before=$(stats mnt requests.READ)
        datasetfsctl switch mnt v2 >/dev/null
        datasetfsctl switch mnt v1 >/dev/null
        cmp mnt/d/large source1/d/large || fail "$notify: not the old version again"
        reads=$(($(stats mnt requests.READ) - before))
    done
    assert_eq "READs (one is of stats.json) of a file whose pages are still there" $reads 1
    datasetfsctl switch mnt v2 --if-current v1 >/dev/null
    exec 5<&- 6<&-
    kill $walker
    wait $walker 2>/dev/null || true
    compare source1/d bound
    assert_eq "status with a bind mount in an old version" "$(status mnt)" "v2 of v1 v2"
    umount bound
    wait_for 20 one_open || fail "$notify: the old version is not closed: $(cat mnt/.datasetfs/stats.json)"
    unmount mnt
    say "open files and directories, notify=$notify"
done

mount_volume volume mnt
assert_fails 1 "the volume has no version 'v9'" datasetfsctl switch mnt v9
assert_fails 1 "the mount serves 'v1', expected 'v2'" datasetfsctl switch mnt v2 --if-current v2
assert_fails 1 "not on a datasetfs mount" datasetfsctl switch source1 v2
assert_fails 2 "is not a label" datasetfsctl switch mnt ''
assert_eq "json" "$(datasetfsctl switch mnt v2 --prepare --json | json prepared_only /dev/stdin)" true
assert_eq "label after --prepare" "$(label)" v1
assert_eq "open versions after --prepare" "$(open_versions)" 2
assert_eq "current of the volume" "$(datasetfsctl switch mnt --json | json label /dev/stdin)" v1
unmount mnt

# A damaged index is refused with the reason, and nothing changes.
cp volume damaged
at=$(datasetfsctl list volume --json | json versions.1.index.0.offset /dev/stdin)
mount_volume damaged mnt
printf 'XX' | dd of=damaged bs=1 seek=$((at + 9000)) conv=notrunc status=none
assert_fails 1 "its SHA-256 is not the one in the catalogue" datasetfsctl switch mnt v2
compare source1 mnt
assert_eq "open versions after a refusal" "$(open_versions)" 1
unmount mnt
say "refusals leave the mount as it was"

# Not enough memory in the control group.
group=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)/datasetfs-test-$$
limit=memory.limit_in_bytes
[ -d /sys/fs/cgroup/memory ] || {
    group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/datasetfs-test-$$
    limit=memory.max
}
# used: bytes, without what goes away under pressure
used() {
    local usage=memory.usage_in_bytes cache=total_
    [ $limit != memory.max ] || { usage=memory.current; cache=; }
    echo $(($(cat "$group/$usage") - $(awk -v of=$cache \
        '$1 == of "inactive_file" || $1 == of "active_file" { sum += $2 } END { print sum }' "$group/memory.stat")))
}
if [ -z "${DATASETFS_SANITIZER:-}" ] && mkdir "$group" 2>/dev/null && [ -e "$group/$limit" ]; then
    mount_volume volume mnt
    at_exit rmdir "$group"
    echo $SERVER >"$group/cgroup.procs"
    echo $((12 << 20)) >"$group/$limit"
    assert_fails 1 "not enough memory for its index" datasetfsctl switch mnt v2
    compare source1 mnt
    echo $((64 << 20)) >"$group/$limit"
    datasetfsctl switch mnt v2 >/dev/null || fail "refused with enough memory"
    unmount mnt

    # 24 MiB are left of some 240: enough for a switch, but less than the eighth that a visitor must leave.
    echo $((1 << 30)) >"$group/$limit"
    mount_volume volume mnt
    echo $SERVER >"$group/cgroup.procs"
    held=$(mktemp /dev/shm/datasetfs-test.XXXXXX)
    at_exit rm -f "$held"
    sh -c 'echo $$ >"$1" && head -c 216M /dev/zero >"$2"' sh "$group/cgroup.procs" "$held" ||
        fail "no memory for the test"
    echo $(($(used) + (24 << 20))) >"$group/$limit"
    assert_fails 1 "Cannot allocate memory" stat mnt/.datasetfs/versions/v2
    line="versions/v2': not enough memory for its index: "
    line+="needs .*, .* must stay free, .* is available in the control group"
    grep -q "$line" daemon.log || fail "no line about the memory: $(cat daemon.log)"
    datasetfsctl switch --prepare mnt v2 >/dev/null || fail "a switch must leave no eighth"
    stat mnt/.datasetfs/versions/v2 >/dev/null || fail "what is open takes no memory"
    unmount mnt
    rm -f "$held"
    say "memory of the control group is looked at"
else
    say "no control group can be made here: the look at its memory was not tested"
fi

# Users and groups that may switch.
chmod 755 . ..
mount_volume volume mnt -o allow_other,control_group=4711
switch_as() {
    local program
    program=$(command -v datasetfsctl)
    setpriv --reuid 65534 --regid "$1" --groups "$2" --bounding-set=-all --inh-caps=-all "$program" switch "$PWD/mnt" v2
}
if setpriv --reuid 65534 --regid 65534 --clear-groups cat mnt/d/small >/dev/null 2>&1; then
    assert_fails 1 "only root with CAP_SYS_ADMIN and members of its control_group" switch_as 65534 65534
    assert_eq "label after a refused switch" "$(label)" v1
    switch_as 65534 65534,4711 >/dev/null || fail "a member by supplementary group may not switch"
    datasetfsctl switch mnt v1 >/dev/null
    switch_as 4711 65534 >/dev/null || fail "a member by its own group may not switch"
    say "permissions"
else
    say "another user cannot come here: permissions were not tested"
fi
unmount mnt
assert_fails 2 "there is no group 'nosuchgroup'" datasetfs -o control_group=nosuchgroup volume mnt

# A mount pinned to a digest takes no other version.
digest=$(datasetfsctl list volume --json | json versions.0.digest /dev/stdin)
mount_volume volume mnt -o digest="$digest"
assert_fails 1 "expected $digest" datasetfsctl switch mnt v2
unmount mnt

# Following.
assert_fails 2 "cannot be combined with 'version'" datasetfs -o follow=current,version=v1 volume mnt
assert_fails 2 "is neither 'current' nor" datasetfs -o follow=newest volume mnt
mount_volume volume mnt -o follow=current:1
read_by_daemon() {
    awk '/^rchar/ { print $2 }' "/proc/$(stats mnt server_pid)/io"
}
# looked TIMES: at the superblocks, since it had read $before
looked() {
    [ "$(read_by_daemon)" -ge $((before + $1 * 8 * 4096)) ]
}
cat mnt/d/small >/dev/null
datasetfsctl switch mnt v2 >/dev/null
before=$(read_by_daemon)
pack volume source1 --label beside --no-current
wait_for 20 looked 4 || fail "the mount does not look at the volume"
assert_eq "a switch by hand is not overruled by a version that is not the current one" "$(label)" v2
mkdir source3 && echo three >source3/three
pack volume source3 --label v3
follows() {
    [ "$(label)" = v3 ]
}
wait_for 10 follows || fail "the mount does not follow: $(label)"
compare source3 mnt

# The newest superblock cannot be read for a while: what the one before says is not followed.
slot=$(($(datasetfsctl list volume --json | json superblock_sequence /dev/stdin) % 8))
dd if=volume of=slot bs=64K skip=$slot count=1 status=none
dd if=/dev/zero of=volume bs=64K seek=$slot count=1 conv=notrunc status=none
before=$(read_by_daemon)
wait_for 20 looked 2 || fail "the mount does not look at the volume"
assert_eq "an older state is not followed" "$(label)" v3
for version in '' v2; do
    assert_fails 1 "is the newest that can be read, but" datasetfsctl switch mnt ${version:+"$version"}
done
assert_eq "the label after a switch was refused" "$(label)" v3
grep -q "cannot follow .*: superblock [0-9]* is the newest that can be read" daemon.log ||
    fail "no line about the older state: $(cat daemon.log)"
dd if=slot of=volume bs=64K seek=$slot conv=notrunc status=none
datasetfsctl switch mnt >/dev/null || fail "no switch when the newest superblock can be read again"
unmount mnt
say "follow=current"
