#!/bin/bash
# SPDX-License-Identifier: MIT
# datasetfsctl plan: what a cluster needs, from the sizes of a version; each figure that was assumed is named, and an
# impossible one gives one line.
. "$(dirname "$0")/../lib/common.sh"

mkdir source
for i in 1 2 3 4 5 6; do head -c 100000 /dev/urandom >source/small$i; done
head -c 3000000 /dev/urandom >source/large
: >source/empty
pack volume source
need=(--workers 10 --gpus 8 --rate 100)
plan() {
    datasetfsctl plan --json "${need[@]}" "$@" volume >plan.json
}

# planned FIELD: of the last plan, as text
planned() {
    json "$1" <plan.json
}

say "reads and bytes, in whole blocks"
plan
assert_eq "files" "$(planned data.files)" 8
assert_eq "reads" "$(planned data.reads)" 9 # the large one takes three, the empty one none
assert_eq "small reads" "$(planned data.small_reads)" 6
assert_eq "small bytes" "$(planned data.small_bytes)" $((6 * 25 * 4096))
assert_eq "demand" "$(planned demand_files_per_s)" 8000.0
assert_eq "without a cache" "$(planned warm)" None
assert_eq "without a copy" "$(planned cold_lost)" None

say "what was assumed is named, what was given is not"
for option in device port nic latency readers cpus cpu-time; do
    grep -qF -- "\"--$option\"" plan.json || fail "--$option was assumed and is not named: $(cat plan.json)"
done
plan --device 10000,2GB --port 10Gbit --nic 25Gbit --latency 80 --readers 64 --cpus 8 --cpu-time 20 --cache 1M \
    --cache-device 100000,3GB --cache-write 1GB --protect mirror:2 --members 4
assert_eq "assumed" "$(planned assumed)" "[]"
assert_eq "nic" "$(planned inputs.nic_bytes_per_s)" 3125000000.0
# 9 reads and the bytes of 8 files, on 4 members
bytes=$(planned data.read_bytes)
python3 - "$bytes" "$(planned cold.limits.members)" "$(planned cold_lost.limits.members)" <<'END' || fail "members"
import sys
bytes, all, lost = map(float, sys.argv[1:])
time = (9 / 10000 + bytes / 2e9) / 8
sys.exit(abs(all * time / 4 - 1) > 1e-6 or abs(lost * time / 3 - 1) > 1e-6)
END
assert_eq "hits" "$(planned warm.hits)" 0.666667 # all small files fit: 6 reads of 9
assert_eq "fill" "$(planned cache_fill_bytes)" $((6 * 25 * 4096))

say "text"
datasetfsctl plan "${need[@]}" --cache 1M --protect mirror:2 --members 2 volume >plan.txt
for words in "COLD, ONE LOST" "files/s at most" "second limit" "needed " "memory " "boot " "cache " "assumed " \
    "--device 500000,5GB"; do
    grep -qF -- "$words" plan.txt || fail "no '$words': $(cat plan.txt)"
done
[ "$(wc -L <plan.txt)" -le 120 ] || fail "wide: $(cat plan.txt)"

say "impossible figures"
assert_fails 2 "expected --workers, --gpus and --rate" datasetfsctl plan --workers 1 volume
assert_fails 2 "'0': expected a number from 0.001 to" datasetfsctl plan --rate 0 volume
assert_fails 2 "'-1': expected a number" datasetfsctl plan --rate=-1 volume
assert_fails 2 "'1e5': expected a number" datasetfsctl plan --rate 1e5 volume
assert_fails 2 "'--workers': '0' is out of range" datasetfsctl plan --workers 0 volume
assert_fails 2 "'25': expected what passes in a second with its unit, as 25Gbit, 3GB or 3GiB" \
    datasetfsctl plan --nic 25 volume
assert_fails 2 "'1Kbit': expected what passes" datasetfsctl plan --nic 1Kbit volume
assert_fails 2 "'9999TB': expected 1MB to 1000TB a second" datasetfsctl plan --port 9999TB volume
assert_fails 2 "'10000': expected reads and bytes a second, as 500000,5GB" datasetfsctl plan --device 10000 volume
assert_fails 2 "expected --device or --measure, not both" \
    datasetfsctl plan "${need[@]}" --device 10000,1GB --measure volume
assert_fails 2 "give --cache too" datasetfsctl plan "${need[@]}" --cache-write 1GB volume
assert_fails 2 "give it or --cpu-time" datasetfsctl plan "${need[@]}" --library --cpu-time 3 volume
assert_fails 1 "mirror:3 needs 3 members, and there are 2: give --members" \
    datasetfsctl plan "${need[@]}" --members 2 --protect mirror:3 volume
pack a,b source --protect mirror:2
assert_fails 1 "the volume keeps 2 copies, which do not fit on 1 member: give --protect too" \
    datasetfsctl plan "${need[@]}" --members 1 a

mkdir nothing && pack none nothing --allow-empty
assert_fails 1 "version 'v1' has no file to read" datasetfsctl plan "${need[@]}" none

say "measured: the figures are not assumed, the volume is what it was, and a mount of it is named"
sum=$(sha256sum <volume) mounted=
if (need_fuse) >/dev/null; then
    mkdir mnt
    mount_volume volume mnt
    mounted=mnt
fi
if plan --measure 2>said.txt; then
    assert_eq "measured" "$(planned inputs.measured)" true
    ! grep -qE -- '"--(device|latency)"' plan.json || fail "assumed: $(cat plan.json)"
    assert_eq "the volume" "$(sha256sum <volume)" "$sum"
    if [ "$mounted" ]; then
        grep -qF "slows these mounts down" said.txt || fail "it said: $(cat said.txt)"
        grep -qF "'$PWD/mnt' serves version 'v1'" said.txt || fail "it said: $(cat said.txt)"
        assert_eq "mount" "$(planned mounts.0)" "$PWD/mnt"
    else
        [ ! -s said.txt ] || fail "it said: $(cat said.txt)"
    fi
else
    grep -qF "member 0 lies on a filesystem without direct I/O: memory would be measured, so give --device" said.txt ||
        fail "$(cat said.txt)"
fi
[ -z "$mounted" ] || unmount mnt

if (need_loop; need_throttle) >/dev/null; then
    say "measured on a device that limits reads and not their bytes"
    loop_device volume --direct-io=on --read-only
    throttle $$
    throttle_reads 500 iops
    datasetfsctl plan --json "${need[@]}" --measure "$LOOP" >plan.json
    assert_eq "bytes a second" "$(planned inputs.device_bytes_per_s)" None
    datasetfsctl plan "${need[@]}" --measure "$LOOP" | grep '^members' >members.txt
    assert_contains "members" "$(cat members.txt)" " reads/s and no limit of bytes each (measured)"
fi
