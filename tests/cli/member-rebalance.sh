#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan timeout=300
# datasetfsctl member rebalance: after a member was added, all have the same share of what is read, little more is moved
# than what the new one gets, versions keep their digests and their order, and mounts are asked as by compact.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

small_files source 5 700 6
cp -r source source2
head -c 3M /dev/urandom >source2/more

# shares VOLUME: of each member the bytes of chunks of all versions, in the data columns, and their sum
shares() {
    datasetfsctl list --json "$1" | python3 -c '
import json, sys
shares = {}
for segment in {(s["member"], s["offset"] + at): 1 for v in json.load(sys.stdin)["versions"] for s in v["segments"]
                for at in range(0, s["length"], 1 << 20)}:
    shares[segment[0]] = shares.get(segment[0], 0) + 1
print(*(shares.get(number, 0) for number in range(4)))'
}

# digests VOLUME: of its versions
digests() {
    datasetfsctl list --json "$1" | python3 -c '
import json, sys
print(*sorted((version["label"], version["digest"]) for version in json.load(sys.stdin)["versions"]))'
}

# level VOLUME: each of the four has its share, within 5 % and one segment
level() {
    python3 - "$(shares "$1")" <<'END' || fail "the shares of '$1' are $(shares "$1")"
import sys
shares = [int(word) for word in sys.argv[1].split()]
mean = sum(shares) / 4
sys.exit(any(abs(share - mean) > 0.05 * mean + 1 for share in shares))
END
}

assert_fails 1 "the volume is a single file or device: it has no members" \
    sh -c 'mkdatasetfs --progress none single source >/dev/null && datasetfsctl member rebalance single'
for protection in none mirror:2; do
    say "protection $protection"
    volume=$protection.a
    pack "$protection.a,$protection.b,$protection.c" source --label one --segment-size 1M --protect $protection \
        --order random:7
    pack "$volume" source2 --label two
    assert_eq "three alike" "$(datasetfsctl member rebalance "$volume")" "'$volume': every member has its share"
    before_digests=$(digests "$volume")
    datasetfsctl member add "$volume" $protection.d >/dev/null || fail "add"
    before=$(shares "$volume")
    datasetfsctl member rebalance --dry-run --json "$volume" >dry.json || fail "dry run"
    assert_eq "the shares after a dry run" "$(shares "$volume")" "$before"
    datasetfsctl member rebalance --json "$volume" >done.json || fail "rebalance"
    say "$before -> $(shares "$volume"), $(json moved_bytes done.json) bytes moved"
    assert_eq "what was foreseen" "$(json segments done.json)" "$(json segments dry.json)"
    level "$volume"
    python3 - "$before" "$(json moved_bytes done.json)" <<'END' || fail "it moved too much: $(cat done.json)"
import sys
quarter = sum(int(word) for word in sys.argv[1].split()) / 4 * (1 << 20)
sys.exit(int(sys.argv[2]) > 1.05 * quarter + (2 << 20))
END
    datasetfsctl verify "$volume" >verify.log || fail "verify: $(cat verify.log)"
    assert_eq "the digests" "$(digests "$volume")" "$before_digests"
    assert_eq "the order" "$(datasetfsctl describe --json "$volume" | json order.kind)" random
    assert_eq "once more" "$(datasetfsctl member rebalance "$volume")" "'$volume': every member has its share"
    pack "$volume" source --label three
    datasetfsctl verify "$volume" >verify.log || fail "verify after a publish: $(cat verify.log)"
done

say "mounts are asked"
(need_fuse) >/dev/null || skip "no mounts"
datasetfsctl member add none.a none.e >/dev/null || fail "add"
mount_volume none.a mnt -o version=one
! datasetfsctl member rebalance none.a >out 2>&1 || fail "it moves what a mount serves: $(cat out)"
assert_contains "the reason" "$(cat out)" "use --force, and switch to the same version afterwards"
datasetfsctl member rebalance --force none.a >out 2>&1 || fail "forced: $(cat out)"
compare source mnt
datasetfsctl switch mnt one >/dev/null || fail "switch: $(cat daemon.log)"
compare source mnt
unmount mnt
