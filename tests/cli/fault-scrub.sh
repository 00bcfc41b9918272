#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=600
# scrub --repair with the Nth read, write, flush or allocation failing: nothing that was right on one member is lost,
# and the next scrub makes all of it right.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir tree
for i in {1..60}; do head -c $((i * 700)) /dev/urandom >"tree/f$i"; done
head -c 1200000 /dev/urandom >tree/large

. "$LIB/faults.sh"
rc=0 # of injected()
of_members a b c
pack "$(named base.vol)" tree --segment-size 1M --protect mirror:2
mkdir right now
cp base.vol.* right/
python3 "$LIB/member_rows.py" flip "${SEED:-5}" 40 1 base.vol.* >flips
superblock=$(python3 - base.vol.c <<'END'
import struct, sys
raw = open(sys.argv[1], "rb").read(1 << 20)
slots = [struct.unpack_from("<Q", raw, (n << 16) + 0x30)[0] for n in range(8)]
print(slots.index(max(slots)) << 16)
END
)
spoil base.vol.c $((superblock + (1 << 16)))

repair=(datasetfsctl scrub -j1 --repair "$(named work.vol)")
faults_of . . "${repair[@]}"

# mended WHAT: whatever happened, what is left can be made right, and then all is as it was
mended() {
    datasetfsctl scrub --repair "$(named work.vol)" >out 2>err || fail "$1: the next repair: $(cat out err)"
    assert_contains "$1: the next repair" "$(tail -n 1 out)" " lost=0 unknown=0"
    rm -f now/*
    cp work.vol.* now/
    python3 "$LIB/member_rows.py" same right now || fail "$1: the rows"
    datasetfsctl scrub "$(named work.vol)" >out 2>err || fail "$1: the scrub after it: $(cat out err)"
    assert_contains "$1: the scrub after it" "$(tail -n 1 out)" "clean: "
}

for kind in write flush read alloc; do
    injected $kind 0
    assert_eq "status without a failure: $(cat out err)" $rc 0
    total=$(cat count) failed=0
    turns "$total" 4
    for n in "${TURNS[@]}"; do
        injected $kind "$n"
        case $rc in
        0) ;;
        1 | 2) failed=$((failed + 1)) ;;
        *) fail "$kind $n: exit $rc: $(cat out err)" ;;
        esac
        mended "$kind $n"
    done
    [ $kind = read ] || noticed $failed $kind "$total"
    say "$kind: $total calls, $failed failures reported"
done

say "killed before a write"
injected write 0
total=$(cat count)
turns "$total" 1
for n in "${TURNS[@]}"; do
    restore
    env FAULT_KIND=write FAULT_AT=$n FAULT_STOP=1 FAULT_VOLUME="$(named "$PWD/work.vol")" LD_PRELOAD="$PWD/fault.so" \
        "${repair[@]}" >out 2>err &
    wait_for 20 is_stopped $! || fail "write $n does not stop"
    kill -KILL $!
    wait $! 2>killed.log || true
    mended "killed at write $n"
done
