#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke in=asan
# .datasetfs/metrics has the values of stats.json, and they are what was read; labels are escaped, a switch and a
# missing member are seen, anybody may read it, and Prometheus's own check of the format finds no fault.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
hold_caches # names that are dropped between the two files change the counts of FORGET and of lookups

mkdir source
for i in {1..20}; do head -c $((i * 5000)) /dev/urandom >source/$i; done
echo "in the index" >source/tiny
content=$((210 * 5000))

# metric SERIES: of mnt
metric() {
    cat mnt/.datasetfs/metrics >metrics.now
    python3 "$LIB/exposition.py" metrics.now "datasetfs_$1"
}

# agree: with stats.json of mnt, and with the manual page. Daemons that start beside this test look whether the socket
# is dead, and are clients for a moment, which may be that between the two files: hence several tries.
agree() {
    local page=$DATASETFS_SOURCE/man/datasetfs-control.5 rc
    for _ in 1 2 3; do
        rc=0
        cat mnt/.datasetfs/metrics >metrics
        cat mnt/.datasetfs/stats.json >stats.json
        python3 "$DATASETFS_SOURCE/tests/fuse/metrics.py" metrics stats.json "$page" "$LIB" || rc=$?
        [ $rc != 0 ] || break
    done
    [ $rc = 0 ] || fail "metrics and stats.json differ"
    ! command -v promtool >/dev/null || promtool check metrics <metrics || fail "promtool check metrics"
}

say "a volume of one member"
pack volume source --label v1
pack volume source --label v2
mount_volume volume mnt -o readahead=off,version=v1
agree
compare source mnt
agree
assert_eq "files, bytes" "$(metric served_files_total) $(metric served_bytes_total)" "21 $((content + 13))"
assert_eq "bytes that no READ came for" "$(metric stored_bytes_total)" 0
assert_eq "reads of the volume" "$(metric device_reads_total)" 20
assert_eq "of the histogram" "$(metric read_duration_seconds_count)" 21
assert_eq "of the other" "$(metric device_read_duration_seconds_count)" 20
assert_eq "files" "$(metric version_files) $(metric version_bytes)" "21 $((content + 13))"
digest=$(json digest mnt/.datasetfs/version)
# info LABEL SEQUENCE: the series of the version that is served
info() {
    echo "version_info{version=\"$1\",digest=\"$digest\",sequence=\"$2\",volume_uuid=\"$(json volume_uuid \
        mnt/.datasetfs/version)\",volume=\"$PWD/volume\"}"
}
assert_eq "version" "$(metric "$(info v1 1)")" 1
datasetfsctl switch mnt v2 >/dev/null
assert_eq "version after a switch" "$(metric "$(info v2 2)")" 1
assert_eq "switches, pending" "$(metric switches_total) $(metric switch_pending)" "1 0"
agree
if is_root; then
    chmod a+x .
    as_user cat mnt/.datasetfs/metrics >by-nobody || fail "nobody may not read it"
    assert_contains "what nobody reads" "$(cat by-nobody)" "datasetfs_served_bytes_total $((content + 13))"
fi
unmount mnt

say "a volume that cannot be followed"
pack followed source
mount_volume followed mnt -o follow=current:1
assert_eq "pending" "$(metric switch_pending)" 0
mv followed gone
cp gone kept
truncate -s 0 gone
pending() { [ "$(metric switch_pending)" = "$1" ]; }
wait_for 60 pending 1 || fail "a mount that cannot follow does not say so: $(cat metrics.now)"
cat kept >gone
wait_for 60 pending 0 || fail "it says so for ever: $(cat metrics.now)"
unmount mnt

say "members"
pack a,b,c source --protect mirror:2
mount_volume a,b,c mnt -o readahead=off
compare source mnt
agree
reads=0
for i in 0 1 2; do reads=$((reads + $(metric "member_reads_total{member=\"$i\"}"))); done
assert_eq "reads of all members" $reads "$(metric device_reads_total)"
unmount mnt
rm c
mount_volume a,b mnt -o readahead=off
compare source mnt
agree
assert_eq "member 2" "$(metric 'member_state{member="2",state="missing"}')" 1
assert_eq "degraded" "$(metric degraded)" 1
unmount mnt

say "names of all bytes"
mv volume $'na"me\\with\nbytes \xff'
mount_volume $'na"me\\with\nbytes \xff' mnt
cat mnt/.datasetfs/metrics >metrics
grep -aF '/na\"me\\with\nbytes \\xff"} 1' metrics >line || fail "the label is not escaped: $(cat metrics)"
! command -v promtool >/dev/null || promtool check metrics <metrics || fail "promtool check metrics"
unmount mnt
need_command promtool
