#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=400
# datasetfsctl compact with its Nth allocation, read, write or flush failing: one clear line and exit 1, and the volume is
# what it was; or, where the failure did not matter, a volume that verifies.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

cc -shared -fPIC -O1 -D_GNU_SOURCE "$DATASETFS_SOURCE/tests/lib/fault.c" -o fault.so || fail "fault.c does not compile"

mkdir tree
for i in $(seq 0 120); do head -c $((i * 200)) /dev/urandom >"tree/f$i"; done
head -c 2M /dev/urandom >tree/large
pack base.vol tree --label one --segment-size 1M --trust-mtime
for i in $(seq 0 100); do head -c $((i * 200)) /dev/urandom >"tree/f$i"; done
pack base.vol tree --label two --trust-mtime
head -c 2M /dev/urandom >tree/large
pack base.vol tree --label three --compress zstd
datasetfsctl remove base.vol one >/dev/null 2>&1
base=$(sha256sum <base.vol)

# injected KIND N: compacts with that call failing; sets rc
injected() {
    cp base.vol work.vol
    rc=0
    env FAULT_KIND="$1" FAULT_AT="$2" FAULT_COUNT="$PWD/count" FAULT_VOLUME="$PWD/work.vol" \
        LD_PRELOAD="$PWD/fault.so" datasetfsctl compact --below 90 work.vol >out 2>err || rc=$?
}

# every KIND: each call of the kind in turn, the first 60, then every third. A write fails for want of room, and compact may
# succeed with less to move.
every() {
    local what=$1 total n failed=0
    injected "$what" 0
    [ $rc = 0 ] || fail "counting run: exit $rc: $(cat err)"
    assert_contains "counting run" "$(cat out)" "segments emptied"
    total=$(cat count)
    [ "$total" -gt 0 ] || fail "no call of kind $what was counted"
    for ((n = 1; n <= total; n += n < 60 ? 1 : 3)); do
        injected "$what" "$n"
        case $rc in
        0) assert_contains "$what $n" "$(cat out)" "segments emptied"
           datasetfsctl verify work.vol >verify.log 2>&1 || fail "$what $n: exit 0 but: $(cat verify.log)" ;;
        1) failed=$((failed + 1))
           [ "$(wc -l <err)" = 1 ] || fail "$what $n: not one line: $(cat err)"
           grep -q '^datasetfsctl: cannot compact .' err || fail "$what $n: no reason: $(cat err)"
           [ "$(sha256sum <work.vol)" = "$base" ] || fail "$what $n: the volume changed after: $(cat err)" ;;
        *) fail "$what $n: exit $rc: $(cat err)" ;;
        esac
    done
    [ $failed -gt 0 ] || [ "$what" = write ] || fail "no failure of kind $what was noticed"
    say "$what: $total calls, $failed injected failures reported"
}

every flush
every write
every read
every alloc
