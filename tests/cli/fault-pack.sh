#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=400
# The packer with its Nth allocation, read, write or flush failing: one clear line and exit 1, and the volume is what
# it was; or, where the failure did not matter, a volume that verifies.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

cc -shared -fPIC -O1 -D_GNU_SOURCE "$DATASETFS_SOURCE/tests/lib/fault.c" -o fault.so || fail "fault.c does not compile"

mkdir -p tree/a/b
for i in $(seq 0 20); do head -c $((i * 700)) /dev/urandom >"tree/a/f$i"; done
head -c 700000 /dev/urandom >tree/a/b/large
cp tree/a/b/large tree/a/same
ln -s a tree/link
ln tree/a/f3 tree/hard
pack base.vol tree --label one
echo changed >>tree/a/f1
base=$(sha256sum <base.vol)

# injected KIND N [VAR=VALUE…]: packs a second version with that call failing; sets rc
injected() {
    cp base.vol work.vol
    rc=0
    env FAULT_KIND="$1" FAULT_AT="$2" FAULT_COUNT="$PWD/count" FAULT_VOLUME="$PWD/work.vol" "${@:3}" \
        LD_PRELOAD="$PWD/fault.so" mkdatasetfs --progress none --compress zstd -j2 --label two work.vol tree \
        >out 2>err || rc=$?
}

# every KIND STEP [VAR=VALUE…]: each call of the kind in turn; the first 60, then every STEP-th
every() {
    local what=$1 step=$2 total n failed=0
    injected "$what" 0 "${@:3}"
    [ $rc = 0 ] || fail "counting run: exit $rc: $(cat err)"
    total=$(cat count)
    [ "$total" -gt 0 ] || fail "no call of kind $what was counted"
    for ((n = 1; n <= total; n += n < 60 ? 1 : step)); do
        injected "$what" "$n" "${@:3}"
        case $rc in
        0) datasetfsctl verify work.vol >verify.log 2>&1 || fail "$what $n: exit 0 but: $(cat verify.log)" ;;
        1) failed=$((failed + 1))
           [ "$(wc -l <err)" = 1 ] || fail "$what $n: not one line: $(cat err)"
           grep -q '^mkdatasetfs: .' err || fail "$what $n: no reason: $(cat err)"
           [ "$(sha256sum <work.vol)" = "$base" ] || fail "$what $n: the volume changed after: $(cat err)" ;;
        *) fail "$what $n: exit $rc: $(cat err)" ;;
        esac
    done
    [ $failed -gt 0 ] || fail "no failure of kind $what was noticed"
    say "$what ${*:3}: $total calls, $failed injected failures reported"
}

every flush 1
every write 1
every write 7 FAULT_OTHER=1
every read 1
every read 7 FAULT_OTHER=1
every alloc 5
[ -z "$(find . -maxdepth 1 -name '*mkdatasetfs*')" ] || fail "temporary files are left: $(ls -d ./*mkdatasetfs*)"
