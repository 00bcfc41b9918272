#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=gcc
# status begins with the trouble of a mount, and top shows it: a member that is missing, one that hangs, and reads that
# wait for the device. When the trouble is over, status says healthy again, and how long it lasted.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_command python3

mkdir -p source back away
for i in {1..200}; do head -c 20000 /dev/urandom >source/$i; done

# state: of the only mount that is looked at, as top has it
state() {
    datasetfsctl top --json --batch 1 mnt >sample
    json mounts.0.state sample
}
is_state() {
    [ "$(state)" = "$1" ]
}
first_line() {
    datasetfsctl status mnt | head -n 1
}

say "a member is missing"
pack a,b source --protect mirror:2 --label v1
mv b away/
mount_volume a mnt
wait_for 60 is_state degraded || fail "top: $(cat sample)"
assert_contains "its reason" "$(json mounts.0.trouble.0 sample)" "member 1 missing, "
assert_eq "members" "$(json mounts.0.members sample) $(json mounts.0.members_missing sample)" "2 1"
assert_contains "status" "$(first_line)" "degraded: member 1 missing, 100 % of this version has one copy left"
# row_shows WORD: on a busy machine a daemon may be too late for a look
row_shows() {
    datasetfsctl top --batch 1 mnt >text && [[ $(sed -n 6p text) == *" $1"* ]]
}
wait_for 60 row_shows degraded || fail "the row: $(cat text)"
assert_contains "the line below" "$(sed -n 7p text)" "  degraded: member 1 missing, "
assert_contains "the head" "$(sed -n 1p text)" "1 mount, 1 with trouble"
unmount mnt
mv away/b b

# reader: every file, past the page cache, again and again until it is told
reader() {
    python3 - <<'END'
import mmap, os, random
buffer = mmap.mmap(-1, 1 << 20)
while not os.path.exists("stop"):
    name = random.choice(os.listdir("source"))
    fd = os.open(f"mnt/{name}", os.O_RDONLY | os.O_DIRECT)
    if os.readv(fd, [buffer]) != 20000 or buffer[:20000] != open(f"source/{name}", "rb").read():
        raise SystemExit(f"{name} is another one")
    os.close(fd)
END
}

say "a member hangs"
for member in a b; do
    mv $member back/
    slow_device back/$member $member 0 $member.control
done
mount_volume a mnt -o readahead=off
reader >reader.log 2>&1 &
reader=$!
end_process_at_exit $reader
wait_for 60 is_state ok || fail "before: $(cat sample)"
slow_control b.control hang
wait_for 60 is_state suspect || fail "nobody noticed: $(cat sample)"
assert_eq "its reason" "$(json mounts.0.trouble.0 sample)" \
    "member 1 is silent or fails, a copy is read where there is one"
assert_eq "members" "$(json mounts.0.members_suspect sample) $(json mounts.0.members_missing sample)" "1 0"
assert_eq "status" "$(first_line)" "suspect: member 1 is silent or fails, a copy is read where there is one"
[ "$(datasetfsctl status mnt | awk '$1 == 1 && $2 == "suspect"' | wc -l)" = 1 ] || fail "$(datasetfsctl status mnt)"
slow_control b.control 0
wait_for 60 is_state ok || fail "it is back: $(cat sample)"
assert_contains "status" "$(first_line)" "healthy: "
touch stop
wait $reader || fail "$(cat reader.log)"
unmount mnt

say "reads wait for the device"
pack back/c source --compress none --label v1
slow_device back/c c 0 c.control
mount_volume c mnt -o readahead=off,deadline=300
slow_control c.control hang
cmp mnt/7 source/7 >cmp.log 2>&1 &
reader=$!
end_process_at_exit $reader
wait_for 60 is_state stalled || fail "nobody noticed: $(cat sample)"
why=$(json mounts.0.trouble.0 sample)
[[ $why =~ ^"reads have waited for the device for "[0-9]+" s, since "[-0-9:\ ]+" UTC"$ ]] ||
    fail "$(cat sample)"
[ "$(json mounts.0.stalled_since sample)" -gt 0 ] || fail "$(cat sample)"
assert_contains "status" "$(first_line)" "stalled: reads have waited for the device for "
slow_control c.control 0
wait $reader || fail "$(cat cmp.log)"
wait_for 60 is_state ok || fail "it is over: $(cat sample)"
assert_eq "stalls" "$(json mounts.0.stalls sample)" 1
datasetfsctl status mnt >text
assert_contains "status" "$(head -n 1 text)" "healthy: "
grep -qE '^  stalls +1, the longest for [0-9]+ s$' text || fail "$(cat text)"
unmount mnt
