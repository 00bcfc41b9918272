#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan timeout=400
# Publish, current, remove, compact and grow on a volume with versions, cut off anywhere: what is found afterwards is
# the set of versions of before or that of after, whole. A publish writes large pieces, in order.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/clock.sh"

seed=${SEED:-$RANDOM}
rounds=$(length 10 40)
say "seed $seed"

# change: some of the files
change() {
    local i
    for i in 3 7 11; do head -c $((RANDOM * 4)) /dev/urandom >tree/f$i; done
    head -c 900000 /dev/urandom >tree/large
    echo "$RANDOM" >tree/tiny
}

# crash WORDS…: on $volume
volume=volume
crash() {
    later "$DATASETFS_BUILD/tests/format/crash" $volume "$seed" $rounds "$@" >crash.out || fail "crash $*"
    cat crash.out
    datasetfsctl verify $volume >verify.out || fail "verify after $*: $(cat verify.out)"
}

mkdir tree
for i in $(seq 0 20); do head -c $((i * 3000)) /dev/urandom >tree/f$i; done
change
later pack volume tree --label one --segment-size 1M
change
crash publish tree two
change
crash publish tree three trust
crash current one
crash remove two
change
crash publish tree four
crash grow $((3 << 20))
crash remove three
change
crash publish tree five trust
crash current one
crash remove four
more=2
[ "$DATASETFS_FULL" = 0 ] || more=6
for ((i = 1; i <= more; i++)); do
    change
    crash publish tree "more$i"
    crash remove "$([ $i = 1 ] && echo five || echo "more$((i - 1))")"
done
assert_eq "versions that are left" \
    "$(datasetfsctl list --json volume |
        python3 -c 'import json, sys; print(*[v["label"] for v in json.load(sys.stdin)["versions"]])')" "one more$more"
compacted=0
for i in 1 2; do
    change
    crash publish tree "last$i"
    crash remove "$([ $i = 1 ] && echo more$more || echo last1)"
    if [ "$(datasetfsctl compact --dry-run --json --below 95 volume | json segments)" -gt 0 ]; then
        crash compact 95
        compacted=$((compacted + 1))
    fi
done
[ $compacted -gt 0 ] || fail "there was never anything to compact"
assert_eq "versions that are left in the end" \
    "$(datasetfsctl list --json volume |
        python3 -c 'import json, sys; print(*sorted(v["label"] for v in json.load(sys.stdin)["versions"]))')" \
    "last2 one"

# In random order, which later versions inherit, with tables of places.
volume=mixed
rounds=$((rounds / 2))
pack mixed tree --label one --segment-size 1M --order random
for i in 1 2 3; do
    change
    crash publish tree "mixed$i"
    crash remove "$([ $i = 1 ] && echo one || echo "mixed$((i - 1))")"
done
crash compact 100
assert_eq "the order of what is left" "$(datasetfsctl describe --json mixed | json order.kind)" random
rounds=$((rounds * 2))

# Block checksums, zstd frames, chunks of another size. What lies behind the first version is free in one piece, so
# that there is one run.
volume=large
rounds=$((rounds / 5))
mkdir data
head -c 3000000 /dev/urandom >data/large
seq 300000 >data/text
truncate -s 140M data/sparse
echo end >>data/sparse
pack large data --label one --chunk-size 64K --segment-size 32M
head -c 9000000 /dev/urandom >data/larger
crash publish data two zstd
grep -q '^data: [4-9] writes, runs 1$' crash.out || fail "expected 4 to 9 writes in one run: $(cat crash.out)"
seq 400000 >data/text
crash publish data three trust
datasetfsctl list --json large | python3 -c '
import json, sys
listed = json.load(sys.stdin)
versions = listed["versions"]
assert [v["chunk_size"] for v in versions] == [65536, 131072, 131072]
assert versions[1]["feature_incompat"] == 3, "nothing was compressed, or no long hole"
for version in versions:
    assert version["block_checksum_bytes"], version["label"]
    for segment in version["segments"]:
        assert segment["offset"] % listed["segment_size"] == 0, segment' ||
    fail "not the versions that are to be tested"
crash remove two
