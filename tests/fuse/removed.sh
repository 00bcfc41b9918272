#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon channels in=asan
# A mount whose version was removed, or moved by compaction: it says so at once, apart from damage. What it reads is
# right, or EIO once the space is used again, and then the log says that too; a switch mends it.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
. "$LIB/clock.sh"

# verdict: what 'status' says first
verdict() {
    datasetfsctl status mnt | head -n 1
}

# outdated [REASON]: what the counters say, in both forms
outdated() {
    [ "$(stats mnt outdated)" = "${1:-None}" ] || return 1
    for reason in removed moved reformatted; do
        grep -q "^datasetfs_version_outdated{reason=\"$reason\"} $([ "$reason" != "${1:-}" ]; echo $?)\$" \
            mnt/.datasetfs/metrics || return 1
    done
}

# fill DIRECTORY COUNT SIZE [KEEP]: every KEEP-th file stays as it is
fill() {
    python3 - "$@" <<'END'
import os, sys
os.makedirs(sys.argv[1], exist_ok=True)
keep = int(sys.argv[4]) if len(sys.argv) > 4 else 0
for i in range(int(sys.argv[2])):
    if keep and i % keep == 0:
        continue
    with open(f"{sys.argv[1]}/f{i}", "wb") as out:
        out.write(os.urandom(int(sys.argv[3])))
END
}

# read_all SOURCE MOUNT: every file is that of SOURCE or fails with EIO; prints how many failed
read_all() {
    python3 - "$@" <<'END'
import errno, os, sys
source, mount = sys.argv[1:]
failed = 0
for name in sorted(os.listdir(source)):
    try:
        found = open(f"{mount}/{name}", "rb").read()
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        failed += 1
        continue
    if found != open(f"{source}/{name}", "rb").read():
        sys.exit(f"{name}: other bytes")
print(failed)
END
}

fill one 60 50000
fill two 60 50000
pack volume one --label v1 --segment-size 1M
began=$SECONDS
by_clock mount_volume volume mnt
pack volume two --label v2
outdated || fail "outdated, before anything was removed"
datasetfsctl remove --force volume v1 2>/dev/null >&2 || fail "remove v1"

# Its bytes are still there. The daemon looks every 30 seconds, and 'status' has it look at once.
outdated || [ $((SECONDS - began)) -ge 28 ] || fail "the daemon looks all the time"
pass 31000
line="version 'v1' is no longer on the volume (removed): reads are right until its space is reused, "
line+="switch '$PWD/mnt', sequence=1"
wait_for 10 grep -qF "$line" daemon.log || fail "no line about the removal: $(cat daemon.log)"
outdated removed || fail "not outdated: $(stats mnt outdated)"
gone="outdated: 'v1' is no longer on the volume: 'datasetfsctl switch $PWD/mnt' goes to the current version"
assert_eq "status after the removal" "$(verdict)" "$gone"
# is_shown: by top, which takes a daemon that has no processor for half a second for silent
is_shown() {
    datasetfsctl top --batch 1 mnt >text && grep -q "/mnt .* outdated\$" text
}
wait_for 20 is_shown || fail "top: $(cat text)"
cat mnt/f0 | cmp - one/f0 || fail "v1 right after it was removed"
fill three 60 50000
pack volume three --label v3
failed=$(read_all one mnt) || fail "v1 after it was overwritten: $failed"
[ "$failed" -gt 30 ] || fail "only $failed files of a version fail that was overwritten"
grep -q "read of '.*' failed: chunk sum" daemon.log || fail "no line about a read"
line="version 'v1' was removed from the volume and its space is used again: "
line+="switch '$PWD/mnt' to another one, sequence=1"
wait_for 10 grep -q "$line" daemon.log || fail "no line about the removed version"
read_all one mnt >/dev/null
assert_eq "lines about it" "$(grep -c "was removed from the volume" daemon.log)" 1
assert_eq "places that count as damage" "$(stats mnt damaged)" 0
assert_eq "status after the space was used" "$(verdict)" "$gone"
! datasetfsctl status mnt | grep -E '^(damage|errors):' || fail "a removal looks like damage"
datasetfsctl switch mnt v2 >/dev/null || fail "switch"
outdated || fail "outdated after the switch"
assert_eq "failures after the switch" "$(read_all two mnt)" 0
healthy="^healthy; [0-9]+ reads failed earlier, the last [0-9]+ s ago: '$PWD/mnt' serves version 'v2' of "
[[ $(verdict) =~ $healthy ]] ||
    fail "a removal looks like damage after the switch: $(datasetfsctl status mnt)"

# Damage of a version that is there is only damage.
: >daemon.log
offset=$(datasetfsctl stat --json --version v2 volume f9 | python3 "$LIB/chunks.py" | awk 'NR == 1 { print $4 }')
printf 'damaged' | dd of=volume bs=1 seek=$((offset + 100)) conv=notrunc status=none
datasetfsctl switch mnt v3 >/dev/null || fail "switch to v3"
datasetfsctl switch mnt v2 >/dev/null || fail "switch to v2"
! cat mnt/f9 >/dev/null 2>&1 || fail "a damaged file is read"
datasetfsctl switch mnt v3 >/dev/null || fail "the control thread does not answer"
! grep -q "version '.*' was" daemon.log || fail "damage is taken for a removal: $(cat daemon.log)"
assert_eq "places that are damaged" "$(stats mnt damaged)" 1
unmount mnt

# Another host formats the volume: sequences begin anew there, so the mounted one is found again.
: >daemon.log
rm -f volume
pack volume one --label v1 --segment-size 1M
pack volume three --label v2 --no-current
pack other two --label v1 --segment-size 1M
mount_volume volume mnt -o follow=current:1
dd if=other of=volume bs=1M conv=notrunc status=none
failed=$(read_all one mnt) || fail "v1 after the volume was formatted: $failed"
[ "$failed" -gt 30 ] || fail "only $failed files of a volume fail that was formatted"
line="version 'v1' is lost, unmount '$PWD/mnt': the volume was reformatted: its UUID is .*, expected "
wait_for 10 grep -q "$line" daemon.log ||
    fail "no line about the lost version: $(cat daemon.log)"
line="cannot follow the volume's current version, trying again: the volume was reformatted: "
wait_for 10 grep -q "$line" daemon.log ||
    fail "no line about what cannot be followed: $(cat daemon.log)"
assert_eq "status of a lost version" "$(verdict)" \
    "outdated: the volume was formatted anew, 'v1' is lost: unmount '$PWD/mnt'"
outdated reformatted || fail "not reformatted: $(stats mnt outdated)"
unmount mnt

# Compaction: most of v4 goes with v5, what v5 keeps is moved.
rm -f volume
fill four 60 50000
pack volume four --label v4 --segment-size 1M
fill four 60 50000 4
pack volume four --label v5
: >daemon.log
mount_volume volume mnt -o version=v5
datasetfsctl remove volume v4 2>/dev/null >&2 || fail "remove v4"
datasetfsctl compact --force --json volume >compact.json 2>/dev/null || fail "compact"
[ "$(json segments compact.json)" -gt 0 ] || fail "nothing was compacted"
cat mnt/f48 | cmp - four/f48 || fail "v5 right after it was moved"
assert_eq "status after compaction" "$(verdict)" \
    "outdated: 'v5' is no longer on the volume here, it was moved by compaction: 'datasetfsctl switch $PWD/mnt v5'"
outdated moved || fail "not moved: $(stats mnt outdated)"
pack volume three --label v6
failed=$(read_all four mnt) || fail "v5 after its former space was overwritten: $failed"
[ "$failed" -gt 5 ] || fail "only $failed files fail whose former space was overwritten"
line="version 'v5' was moved on the volume by compaction .*: switch '$PWD/mnt' to 'v5', sequence=2 now=3"
wait_for 10 grep -qE "$line" daemon.log ||
    fail "no line about the compaction"
datasetfsctl switch mnt v5 >/dev/null || fail "switch to v5 where it lies now"
grep -q "'$PWD/mnt' serves version 'v5' where it is now, moved by compaction" daemon.log || fail "$(cat daemon.log)"
assert_eq "failures after the switch" "$(read_all four mnt)" 0
outdated || fail "outdated after the switch to where it lies now"
unmount mnt

# A mount that follows goes along by itself.
fill three 60 50000 5
pack volume three --label v7
mount_volume volume mnt -o follow=current:1
before=$(json sequence mnt/.datasetfs/version)
datasetfsctl remove volume v6 2>/dev/null >&2 || fail "remove v6"
datasetfsctl compact --json --below 100 volume >compact.json 2>/dev/null || fail "compact again"
moved() {
    [ "$(json sequence mnt/.datasetfs/version)" -gt "$before" ]
}
python3 -c 'import json, sys
versions = json.load(open("compact.json"))["versions"]
sys.exit(not any(v["label"] == "v7" and v["sequence"] > v["former_sequence"] for v in versions))' ||
    fail "v7 was not moved: $(cat compact.json)"
wait_for 20 moved || fail "follow=current stays with sequence $before"
assert_eq "failures after following" "$(read_all three mnt)" 0

# Switched by hand it goes along with that version, not with the current one.
fill three 60 50000 4
pack volume three --label v8
pack volume two --label v9
label_is() {
    [ "$(json label mnt/.datasetfs/version)" = "$1" ]
}
wait_for 20 label_is v9 || fail "follow=current does not come to v9"
datasetfsctl switch mnt v8 >/dev/null || fail "switch to v8"
before=$(json sequence mnt/.datasetfs/version)
datasetfsctl remove volume v7 2>/dev/null >&2 || fail "remove v7"
datasetfsctl compact --json --below 100 volume >compact.json 2>/dev/null || fail "compact for v8"
wait_for 20 moved || fail "follow=current stays with sequence $before of v8: $(cat compact.json)"
label_is v8 || fail "follow=current overruled a switch by hand"
assert_eq "failures after following v8" "$(read_all three mnt)" 0
unmount mnt
