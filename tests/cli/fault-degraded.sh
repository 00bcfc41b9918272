#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=600
# Volumes of which a member is missing, with the Nth read, write or flush of any of the others failing: while something
# is published without it, and while another one takes its place. And a superblock slot that one member alone does not
# take: the change is in force, the line names the member, and the next publish brings it up to date.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir tree
for i in $(seq 0 9); do head -c $((i * 2000)) /dev/urandom >"tree/f$i"; done
head -c 1200000 /dev/urandom >tree/large
. "$LIB/faults.sh"

# clean VOLUME WHAT: all that is there is right, though a member is missing
clean() {
    local rc=0
    datasetfsctl verify "$1" >verify.log 2>&1 || rc=$?
    [ $rc = 0 ] || { [ $rc = 2 ] && grep -q "^unknown: .* damaged=0$" verify.log; } || fail "$2: $(cat verify.log)"
}

# published_next WHAT: somebody publishes without the member, and succeeds
published_next() {
    mkdatasetfs --progress none --degraded --label next "$(named work.vol)" tree >next.out 2>&1 ||
        fail "$1: the next publish: $(cat next.out)"
    clean "$(named work.vol)" "$1: after the next publish"
}

say "a slot that one member does not take"
of_members a b c
pack "$(named base.vol)" tree --label one --segment-size 1M --protect mirror:2
head -c 1200000 /dev/urandom >tree/large
faults_of '^mkdatasetfs: .' "version 'two'" mkdatasetfs --progress none -j2 --label two "$(named work.vol)" tree
number=0
for member in a b c; do
    injected write 0 FAULT_VOLUME="$PWD/work.vol.$member"
    injected write $(($(cat count) - 1)) FAULT_VOLUME="$PWD/work.vol.$member" # before the publisher record is cleared
    assert_eq "status with the slot of $member failing" $rc 1
    assert_eq "lines with the slot of $member failing" "$(wc -l <err)" 1
    assert_contains "the line" "$(cat err)" \
        "; published, degraded: the change is in force, but perhaps not on member $number"
    assert_contains "what is in force" "$(datasetfsctl list "$(named work.vol)")" "two"
    clean "$(named work.vol)" "the slot of $member failing"
    mkdatasetfs --progress none --label next "$(named work.vol)" tree >next.out 2>&1 || fail "next: $(cat next.out)"
    assert_contains "the next publish" "$(cat next.out)" "a publisher did not finish: process"
    datasetfsctl verify "$(named work.vol)" >verify.log 2>&1 || fail "next: $(cat verify.log)"
    number=$((number + 1))
done

say "published without a member"
rm base.vol.*
of_members a b c d
pack "$(named base.vol)" tree --label one --segment-size 1M --protect mirror:2
rm base.vol.c
of_members a b d
head -c 1200000 /dev/urandom >tree/large
faults_of '^mkdatasetfs: .' "version 'two'" \
    mkdatasetfs --progress none -j2 --degraded --label two "$(named work.vol)" tree
every flush 1
every write 2
every read 4 # a fault fails it in two windows of some 20 calls; elsewhere another copy is read

say "replaced"
# replaced KIND N: with that call failing
replaced() {
    restore
    rm -f work.vol.new
    rc=0
    : >work.vol.new
    env FAULT_KIND="$1" FAULT_AT="$2" FAULT_COUNT="$PWD/count" \
        FAULT_VOLUME="$(named "$PWD/work.vol"),$PWD/work.vol.new" LD_PRELOAD="$PWD/fault.so" \
        datasetfsctl member replace "$(named work.vol)" 2 work.vol.new >out 2>err || rc=$?
}
for kind in flush write read alloc; do
    replaced $kind 0
    [ $rc = 0 ] || fail "counting run: $(cat err)"
    total=$(cat count) failed=0
    before=$(held "$(named base.vol)")
    turns "$total" 3
    for n in "${TURNS[@]}"; do
        replaced $kind "$n"
        what="replaced with $kind $n failing"
        assert_eq "$what: what is in force" "$(held "$(named work.vol)")" "$before"
        if [ $rc != 0 ]; then
            failed=$((failed + 1))
            assert_eq "$what: status" $rc 1
            assert_eq "$what: lines: $(cat err)" "$(wc -l <err)" 1
            grep -q "^datasetfsctl: cannot replace member '2' of .* by 'work.vol.new': " err || fail "$what: $(cat err)"
            clean "$(named work.vol)" "$what"
            datasetfsctl member replace "$(named work.vol)" 2 work.vol.new >out 2>err || fail "$what, again: $(cat err)"
        fi
        datasetfsctl verify "$(named work.vol),work.vol.new" >verify.log 2>&1 || fail "$what: $(cat verify.log)"
    done
    [ $kind = alloc ] || noticed $failed $kind "$total"
    say "$kind: $total calls, $failed failures reported"
done
