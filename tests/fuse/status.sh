#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke in=asan
# datasetfsctl status: a page that says in words what is wrong, or that nothing is, with units; all that the mount
# reports as JSON; with which options it serves, those that were given and the others.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
. "$LIB/clock.sh"

mkdir source && echo content >source/file
pack volume source --label v1

# options: of the mount, in JSON
options() {
    datasetfsctl status --json mnt | python3 -c 'import json, sys
for item in json.load(sys.stdin)["stats"]["options"].items(): print(*item, sep="=")'
}

say "defaults"
mount_volume volume mnt -o channel=dev,io=auto
options >found
datasetfs --help | sed -nE '/^Mount options/,$ s/^  (\[no\])?([a-z_]+).*/\2/p' | grep -vxE 'kernel|allow_suid' >names
cut -d = -f 1 found | cmp - names || fail "$(cut -d = -f 1 found | diff - names)"
assert_eq "allow_other" "$(grep ^allow_other= found)" "allow_other=$(is_root && echo True || echo False)"
assert_eq "switches that are off" "$(grep False found | grep -v allow_other | xargs)" "idmap=False suid=False"
assert_eq "values that are not 0" "$(grep -vE '=(0|auto|False|True)?$' found | xargs)" "verify=always channel=dev \
readahead=16777216 prefetch=268435456 cache_fill=reads on_error=wait deadline=300"
unmount mnt

say "given ones"
digest=$(datasetfsctl list --json volume | json versions.0.digest)
# An option, and its field if that has another value.
cat >given <<END
version=v1
digest=$digest
verify=never
io=threads
channel=dev
workers=3
readahead=4M readahead=4194304
prefetch=off prefetch=0
window=off
max_iops=123
max_bandwidth=2M max_bandwidth=2097152
on_error=eio
deadline=77
control_group=4343
direct_group=0
notify=entries
noversions versions=False
nosupervisor supervisor=False
idmap idmap=True
noexec exec=False
END
mount_volume volume mnt -o "$(cut -d ' ' -f 1 given | paste -sd ,)"
mv found expected
while read -r option field; do
    field=${field:-$option}
    sed -i "s/^${field%%=*}=.*/$field/" expected
done <given
options >found
cmp found expected || fail "$(diff found expected)"

say "as text"
# part TITLE: the lines of that part of the page, with single blanks
part() {
    awk -v title="$1" '/^[^ ]/ { on = $0 == title; next } on && NF { $1 = $1; print }' text
}
datasetfsctl status mnt >text
assert_eq "the first line" "$(head -n 1 text)" "healthy: '$PWD/mnt' serves version 'v1' of '$PWD/volume'"
part "mount options" >lines
assert_eq "readahead" "$(grep '^readahead' lines)" "readahead 4.00 MiB"
assert_eq "verify" "$(grep '^verify' lines)" "verify never"
assert_eq "prefetch" "$(grep '^prefetch' lines)" "prefetch off"
assert_eq "deadline" "$(grep '^deadline' lines)" "deadline 77 s"
assert_eq "workers" "$(grep '^workers' lines)" "workers 3"
assert_eq "max_iops" "$(grep '^max_iops' lines)" "max_iops 123 reads/s"
assert_eq "max_bandwidth" "$(grep '^max_bandwidth' lines)" "max_bandwidth 2.00 MiB/s"
assert_eq "cache_size" "$(grep '^cache_size' lines)" "cache_size off"
assert_eq "lines" "$(wc -l <lines)" "$(options | wc -l)"
! grep -q 'options\.' text || fail "the options are among the counters"
unmount mnt
mount_volume volume mnt -o follow=current:60
assert_eq "follow" "$(options | grep '^follow=')" follow=60
unmount mnt
# cache_size OPTIONS LINE: the line of a mount with a cache
cache_size() {
    mount_volume volume mnt -o "cache=$PWD/cache$1"
    datasetfsctl status mnt >text
    part "mount options" >lines
    assert_eq "cache_size$1" "$(grep '^cache_size' lines)" "cache_size $2"
    unmount mnt
}
mkdir -m 700 cache
cache_size "" "all but a tenth of the filesystem"
cache_size ,cache_size=64M "64.0 MiB"

say "JSON is what the mount reports"
mount_volume volume mnt
datasetfsctl status --json mnt >status.json
python3 - <<'END' || fail "not what the files have: $(cat status.json)"
import json
def spaced(value):
    """As json-c prints it: blanks inside the brackets, none in empty ones."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)}: {spaced(v)}" for k, v in value.items()) + " }" if value else "{ }"
    if isinstance(value, list):
        return "[ " + ", ".join(map(spaced, value)) + " ]" if value else "[ ]"
    return value if isinstance(value, Number) else json.dumps(value)
class Number(str):
    pass
text = open("status.json").read()
found = json.loads(text, parse_float=Number, parse_int=Number)
assert list(found) == ["mount", "source", "version", "stats"], list(found)
assert text == spaced(found) + "\n", spaced(found)
stats = json.load(open("mnt/.datasetfs/stats.json"))
assert list(found["stats"]) == list(stats), "other fields"
version = open("mnt/.datasetfs/version").read()
assert json.loads(version, parse_float=Number, parse_int=Number) == found["version"]
END
unmount mnt

say "figures of a version, of files that were read, and after a switch"
for i in {1..20}; do head -c 5000 /dev/urandom >source/$i; done
pack volume source --label v2
mount_volume volume mnt -o version=v1,readahead=off
datasetfsctl switch mnt v2 >/dev/null
for i in {1..20}; do cat mnt/$i; done | wc -c >count
assert_eq "bytes" "$(cat count)" 100000
datasetfsctl status mnt >text
assert_eq "the first line" "$(head -n 1 text)" "healthy: '$PWD/mnt' serves version 'v2' of '$PWD/volume'"
part version >lines
assert_eq "label" "$(sed -n 1p lines)" "label v2, sequence 2"
assert_contains "served" "$(sed -n 2p lines)" ", after 1 switch"
assert_eq "content" "$(sed -n 3p lines)" "content 21 files, 97.7 KiB"
since=$(date -u -d "$(grep -o 'since [-0-9: ]* UTC' lines | cut -c 7-)" +%s)
assert_eq "since" "$since" "$(stats mnt serving_since)"
[ "$since" -ge $(($(date +%s) - 600)) ] && [ "$since" -le "$(date +%s)" ] || fail "since when: $(cat lines)"
part "since the mount" >lines
assert_eq "files" "$(grep '^files read' lines)" "files read 20, 97.7 KiB"
assert_contains "device reads" "$(grep '^device reads' lines)" ", 1.00 for each file"
cost=$(sed -n 's/^CPU time \([0-9.]*\) us for each file$/\1/p' lines)
awk -v c="$cost" 'BEGIN { exit !(c > 0) }' || fail "no CPU time for each file: $(cat lines)"
[[ $(grep '^READ latency' lines) =~ "50 % below "[0-9]+\.[0-9]{3}" ms, 90 % below "[0-9]+\.[0-9]{3}\ ms ]] ||
    fail "no latency in ms: $(cat lines)"
assert_eq "stalls" "$(grep '^stalls' lines)" "stalls none"
assert_eq "files served" "$(stats mnt files_served)" 20
assert_eq "bytes served" "$(stats mnt bytes_served)" 100000
unmount mnt

say "failed reads are said first"
cp volume damaged
datasetfsctl stat --json --version v2 damaged 7 | python3 "$LIB/chunks.py" >chunks
read -r _ _ _ offset stored <chunks
cp damaged whole
spoil damaged $((offset + stored / 2))
by_clock mount_volume damaged mnt -o version=v2
! cat mnt/7 2>/dev/null || fail "a damaged file was read"
datasetfsctl status mnt >text
assert_eq "damage" "$(sed -n 1p text)" "damage: 1 place, see $PWD/mnt/.datasetfs/damage"
failed=$(stats mnt read_failures) # the kernel asks again
[[ $(sed -n 2p text) =~ ^"failures: $failed read"s?" failed for good since the mount, the last "[0-9]+" s ago"$ ]] ||
    fail "$(cat text)"
[[ $(sed -n 3p text) =~ ^"errors: 0 reads of the device failed, "[0-9]+" sums did not match since the mount, the " ]] ||
    fail "$(cat text)"
assert_eq "what it serves" "$(sed -n 4p text)" "'$PWD/mnt' serves version 'v2' of '$PWD/damaged'"
! grep -q healthy text || fail "healthy: $(cat text)"

say "trouble ends: what was repaired is no damage, and what failed earlier is over"
dd if=whole of=damaged conv=notrunc status=none
is_repaired() {
    pass 31000 # the daemon looks twice a minute
    [ "$(stats mnt damaged)" = 0 ]
}
wait_for 20 is_repaired || fail "the place stays: $(cat mnt/.datasetfs/damage)"
grep -q "1 damaged place of '$PWD/damaged' is right again" daemon.log || fail "no line: $(cat daemon.log)"
by_clock cmp source/7 mnt/7 || fail "the repaired file"
pass 301000
by_clock datasetfsctl status mnt >text
earlier="healthy; $failed reads? failed earlier, the last [0-9]+ min [0-9]+ s ago: '$PWD/mnt' serves version 'v2' of "
[[ $(head -n 1 text) =~ ^$earlier ]] || fail "$(cat text)"
# is_ok: for top, which takes a daemon that has no processor for half a second for silent
is_ok() {
    [ "$(by_clock datasetfsctl top --json --batch 1 mnt | json mounts.0.state)" = ok ]
}
wait_for 20 is_ok || fail "top: $(by_clock datasetfsctl top --json --batch 1 mnt)"
unmount mnt

say "a volume that was truncated says so instead of failed reads of the device"
# first_line MOUNTPOINT: of the page; the daemon has looked at the volume meanwhile
first_line() {
    datasetfsctl status "$1" >text
    head -n 1 text
}
cp whole short
opened=$(numfmt --to=iec-i --format %.2f "$(stat -c %s short)")
short="truncated: the volume is shorter than when it was mounted (1.00 MiB of ${opened/Mi/ MiB})"
mount_volume short mnt -o version=v2
truncate -s 1M short
! cat mnt/7 2>/dev/null || fail "a file behind the end was read"
assert_eq "truncated" "$(first_line mnt)" "$short"
! grep -q '^errors: ' text || fail "the errors are not explained: $(cat text)"
kill_server mnt
assert_eq "after a takeover" "$(first_line mnt)" "$short"
: >short
assert_eq "without a byte" "$(first_line mnt)" "${short/1.00 MiB/0 bytes}"
cat whole >short
! first_line mnt | grep -q truncated || fail "it is whole again: $(cat text)"
unmount mnt
pack a,b,c source --protect mirror:2
mount_volume a,b,c mnt
assert_eq "whole" "$(first_line mnt)" "healthy: '$PWD/mnt' serves version 'v1' of '$PWD/a,$PWD/b,$PWD/c'"
truncate -s 1M b
is_short() {
    datasetfsctl status mnt >text
    grep -q "^truncated: member 1 is shorter than when it was mounted (1.00 MiB of [0-9.]* MiB)" text
}
wait_for 20 is_short || fail "a truncated member: $(cat text)"
compare source mnt
unmount mnt

say "a daemon that hangs is not waited for"
mount_volume volume mnt
kill -STOP "$DAEMON" "$SERVER" # the one would replace the other
wait_for 20 is_stopped "$SERVER"
remedy="kill it and 'fusermount3 -u $PWD/mnt', then mount again"
! is_root || remedy="'umount --force $PWD/mnt', then mount again"
assert_fails 1 "cannot show the status of 'mnt/7': its daemon has not answered for 10 s: if it hangs, $remedy" \
    timeout 120 datasetfsctl status mnt/7
kill -CONT "$DAEMON" "$SERVER"
datasetfsctl status mnt | grep -q "^healthy: " || fail "it goes on, and status does not say so"
is_unmounted() {
    umount mnt 2>/dev/null # the process of the status that gave up may still be about to end
}
wait_for 20 is_unmounted || fail "the mount is still busy"
wait "$DAEMON" || fail "the daemon ended with status $?"
