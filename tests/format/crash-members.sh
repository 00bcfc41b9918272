#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan timeout=1800
# The same as crash.sh on volumes of four members, unprotected and mirrored: cut off anywhere, with any of the writes of
# each member lost that were not flushed, the volume is that of before or that of after, in every copy, and the next
# publish succeeds. Each change continues what a publisher left who was cut off between the slots of two members.
# Mirrored also without one of the members: with the only one that had the newest slot, the volume is what it was.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

seed=${SEED:-$RANDOM}
rounds=$(length_in_gcc 2 20)
every=$(length_in_gcc 16 1) # after every so many crashes somebody publishes
lose=$(length_in_gcc 4 1)  # and a member is lost
say "seed $seed"

spare=.
if [ -d /dev/shm ] && [ -w /dev/shm ]; then
    spare=$(mktemp -d /dev/shm/datasetfs-test.XXXXXX)
    at_exit rm -rf "$spare"
fi

# change: some of the files
change() {
    head -c $((RANDOM * 4)) /dev/urandom >tree/f3
    head -c 1300000 /dev/urandom >tree/large
    echo "$RANDOM" >tree/tiny
}

# crash SLOTS WORDS…: on $volume, which then has so many superblock slots of the new state
crash() {
    "$DATASETFS_BUILD/tests/format/crash" "${losing[@]}" "${without[@]}" --next next --every "$every" --spare "$spare" \
        --leave "$1" "$volume" "$seed" "$rounds" "${@:2}" >crash.out 2>crash.err ||
        fail "crash ${*:2}: $(cat crash.err)"
    cat crash.out
    cat crash.out >>all.out
    [ "$(sed -n 's/^[a-z]*: \([0-9]*\) operations.*/\1/p' crash.out)" -le 100 ] || fail "more than 100 operations"
    [ ${#without[@]} = 0 ] || return 0 # it is not whole
    datasetfsctl verify "$volume" >verify.out || fail "verify after ${*:2}: $(cat verify.out)"
}

mkdir tree next
without=()
for i in $(seq 0 9); do head -c $((i * 3000)) /dev/urandom >tree/f$i; done
echo next >next/file
protections="none mirror:2" # without --all the unprotected ones every other time
[ "$DATASETFS_FULL" = 1 ] || [ $((seed % 2)) = 0 ] || protections=mirror:2
for protection in $protections; do
    say "protection $protection"
    losing=()
    [ $protection = none ] || losing=(--lose "$lose")
    volume=$protection.a,$protection.b,$protection.c,$protection.d
    change
    pack "$volume" tree --label one --segment-size 1M --protect $protection
    change
    crash 1 publish tree two
    change
    crash 2 publish tree three trust zstd
    crash 3 current one
    crash 4 remove two
    crash 2 grow $((2 << 20))
    crash 1 grow $((1 << 20))
    crash 1 current three
    change
    crash 1 publish tree four
    datasetfsctl remove "$volume" one >/dev/null 2>&1
    change
    crash 4 publish tree five
    datasetfsctl remove "$volume" three >/dev/null 2>&1
    worth=$(datasetfsctl compact --dry-run --json --below 95 "$volume" | json segments)
    [ "$worth" -gt 1 ] || fail "only $worth groups are worth emptying"
    crash 1 compact 95
    change
    crash 4 publish tree six
    assert_eq "versions that are left" \
        "$(datasetfsctl list --json "$volume" |
            python3 -c 'import json, sys; print(*[v["label"] for v in json.load(sys.stdin)["versions"]])')" \
        "four five six"
done

say "without a member"
losing=()
change
without=(--without 2)
crash 1 publish tree seven
crash 2 publish tree eight
crash 2 grow $((1 << 20))
crash 3 remove six
list=mirror:2.a,mirror:2.b,mirror:2.d
assert_contains "who is stale" "$(datasetfsctl member list $list)" "missing since"

say "the member is replaced"
datasetfsctl member replace $list 2 new >/dev/null || fail "replace"
cp new newer
rm new
for slot in {0..7}; do dd if=/dev/zero of=newer bs=4096 count=1 seek=$((slot * 16)) conv=notrunc status=none; done
volume=mirror:2.a,mirror:2.b,newer,mirror:2.d
crash 4 replace five
datasetfsctl verify $volume >verify.out || fail "verify after replacing: $(cat verify.out)"

say "a member is added"
volume=three.a,three.b,three.c
head -c 9000000 /dev/urandom >tree/large
pack $volume tree --label one --segment-size 1M
change
pack $volume tree --label two
truncate -s 1M three.d
without=(--without 3)
volume=$volume,three.d
crash 4 add one
without=()
datasetfsctl verify three.a >verify.out || fail "verify after adding: $(cat verify.out)"
crash 4 rebalance now
change
pack three.a tree --label three
datasetfsctl verify three.a >verify.out || fail "verify after a publish: $(cat verify.out)"
grep -q "the state before it [1-9]" all.out || fail "a member was never lost that alone had the newest slot"
