#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke in=asan
# datasetfsctl top --batch: what samples say is what was read between them; a mount that hangs, or whose daemon is
# killed, says so, and does not keep the others; mounts are found by name, or all of them.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_command python3
own_namespace # a look at all mounts keeps each of them busy for a moment, those of other tests as well
top() {
    python3 "$DATASETFS_SOURCE/tests/fuse/top.py" "$@" || fail "top.py $*"
}

# once FILE OPTION… MOUNT…: one look at mounts all of which answered; on a busy machine one may be too late for it
once() {
    local file=$1
    shift
    look() { datasetfsctl top --batch 1 "$@" >"$file" && ! grep -q silent "$file"; }
    wait_for 60 look "$@" || fail "top $*: $(cat "$file")"
}

mkdir -p source/files
for i in {1..40}; do head -c $((1000 + i * 777)) /dev/urandom >source/files/$i; done
pack volume source --label v1

say "usage"
assert_fails 2 "--json needs --batch" datasetfsctl top --json
assert_fails 2 "speed" datasetfsctl top --sort speed --batch 1
assert_fails 2 "interval" datasetfsctl top --interval 0
assert_fails 1 "'source': not on a datasetfs mount" datasetfsctl top --batch 1 source
assert_fails 1 "'missing': No such file or directory" datasetfsctl top --batch 1 missing
mount_volume volume other
assert_fails 1 "standard input and output are no terminal, use --batch" datasetfsctl top other

say "what was read between two samples"
mount_volume volume mnt -o readahead=off
top reads "$PWD/mnt" mnt/files
top pair "$PWD/mnt" mnt/files

say "files that go ahead into the page cache count once, as those of READs"
# A READ that comes while its file goes ahead is answered as well, and then the file went to the kernel twice.
for _ in {1..20}; do
    unmount mnt
    mount_volume volume mnt
    tar cf - -C mnt files | wc -c >count
    files=$(stats mnt files_served)
    [ "$files" != 40 ] || break
done
assert_eq "files" "$files" 40
assert_eq "bytes" $(($(stats mnt bytes_served) + $(stats mnt bytes_stored))) \
    "$(cat source/files/* | wc -c)"

say "text"
once text --sort mount mnt other/
assert_contains "the head" "$(sed -n 1p text)" "  2 mounts, 0 with trouble  every 1 s, by mount"
assert_eq "columns" "$(sed -n 4p text | tr -s ' ')" \
    "MOUNT VERSION SINCE FILES DATA p50 p90 p99 p99.9 READS CPU us DEVICE CPU FLIGHT PAST STALLS STATE"
[[ $(sed -n 5p text) == *" /s "*" MB/s "*" ms "*" ms "*"/file "* ]] || fail "no units: $(cat text)"
assert_eq "the first mount" "$(sed -n 6p text | awk '{ print $2, $4, $NF }')" "v1 0 ok"
[[ $(sed -n 6p text) == *mnt* && $(sed -n 7p text) == *other* ]] || fail "not by name: $(cat text)"
assert_eq "lines" "$(wc -l <text)" 8
COLUMNS=48 once text mnt other
! awk 'length($0) > 48' text | grep . || fail "lines of more than 48 columns"
assert_eq "columns of 48" "$(sed -n 4p text | tr -s ' ')" "MOUNT VERSION FILES DATA p99 STATE"
once text mnt/files
assert_contains "a path below a mount" "$(sed -n 6p text)" "mnt"

say "every mount of the machine"
if can_mount; then
    "$LIB/mount-namespace" datasetfsctl top --json --batch 1 >all # but those of the tests beside us
    for mount in mnt other; do
        grep -qF "\"mount\": \"$PWD/$mount\"" all || fail "no $mount in $(cat all)"
    done
else
    say "no right to mount: left out"
fi

say "a switch"
touch source/files/more
pack volume source --label v2
datasetfsctl switch mnt v2 >/dev/null
once one --json mnt
assert_eq "version" "$(json mounts.0.version one) $(json mounts.0.switches one)" "v2 1"
assert_eq "since" "$(json mounts.0.serving_since one)" "$(stats mnt serving_since)"

say "a mount that hangs, and one that goes away"
kill_log() {
    ! grep -q 'ERROR: .*Sanitizer' daemon.log
}
top hang "$PWD/mnt" "$DAEMON" "$SERVER" "$PWD/other"
kill_log || fail "$(cat daemon.log)"

say "a full disk is no sample"
exits 1 datasetfsctl top --batch 1 other >/dev/full 2>err
assert_contains "reason" "$(cat err)" "No space left on device"
