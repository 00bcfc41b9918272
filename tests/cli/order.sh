#!/bin/bash
# SPDX-License-Identifier: MIT
# mkdatasetfs --order random: classes are mixed, the digest is that of the tree's order, the bytes are the same with any
# number of threads; also after a republish, after compact, from archives, on several members. The order is the one that
# the table of places says.
. "$(dirname "$0")/../lib/common.sh"
. "$LIB/library.sh"

uuid=00112233-4455-6677-8899-aabbccddeeff

# ordered VOLUME TREE random|tree [OLD]: its files lie in this order, and are what they should be. OLD: the tree of the
# version before
ordered() {
    library_tree "$1" placed >placed || fail "the files of $1 by place"
    python3 "$LIB/order.py" check "${@:2}" <placed || fail "$1 in $3 order"
    datasetfsctl verify "${1%%,*}" >verify.out || fail "verify: $(cat verify.out)"
}

# digest VOLUME: of the current version
digest() {
    datasetfsctl describe --json "$1" | json version.digest
}

# order VOLUME: what describe says
order() {
    datasetfsctl describe --json "$1" | json order.kind
}

# mixed VOLUME: by describe, too, nearly as well as at random
mixed() {
    datasetfsctl describe --json "$1" >describe.json
    python3 - <<'END' || fail "$1: $(json order describe.json)"
import json, sys
order = json.load(open("describe.json"))["order"]
sys.exit(not (order["blocks"] > 5 and 0.97 < order["classes"] / order["classes_at_random"] < 1.03))
END
}

# Classes that a tree's order leaves apart; what is equal is shared, what is tiny lies in the index.
python3 "$LIB/order.py" make tree
pack plain tree --uuid $uuid
ordered plain tree tree
assert_eq "order" "$(order plain)" tree
pack random tree --uuid $uuid --order random
ordered random tree random
assert_eq "order" "$(order random)" random
mixed random
assert_eq "digest" "$(digest random)" "$(digest plain)"
assert_contains "describe" "$(datasetfsctl describe random)" \
    "order        random, seed 0; any 128 consecutive files span 8.0 classes on average (8.0 if shuffled)"

# The same bytes with any number of threads, and other places with another seed.
for compress in none auto; do
    for jobs in 1 3 8; do
        pack "$compress$jobs" tree --uuid $uuid --order random:0 --compress $compress -j $jobs
        cmp "${compress}1" "$compress$jobs" || fail "other bytes with -j $jobs"
    done
    ordered "${compress}1" tree random
done
cmp random none1 || fail "random is not random:0"
pack other tree --uuid $uuid --order random:18446744073709551615
ordered other tree random
assert_eq "seed" "$(datasetfsctl describe --json other | json order.seed)" 18446744073709551615
library_tree random placed >placed.0
! cmp -s placed placed.0 || fail "two seeds have one order"
rm none? auto? other

# A volume keeps its order, until told otherwise. New files are mixed among themselves.
cp -a tree next
python3 "$LIB/order.py" make next salt
for trust in "" --trust-mtime; do
    cp random volume
    pack volume next --label v2 $trust
    assert_eq "order of v2" "$(order volume)" random
    ordered volume next random tree
    assert_eq "digest of v2" "$(digest volume)" "$(pack fresh next && digest fresh)"
    rm volume fresh
done
pack random next --label v2 --order tree
assert_eq "order of v2" "$(order random)" tree
library_tree random placed >placed
assert_eq "files by id" "$(sort -c -k 4 <(cut -d ' ' -f 4 placed | head -384) && echo ascending)" ascending
rm random

# Compaction moves what is left, and leaves it mixed.
pack volume tree --order random --segment-size 1M --label v1
pack volume next --label v2
before=$(digest volume)
datasetfsctl remove volume v1 >/dev/null 2>&1
datasetfsctl compact --json --below 100 volume >compact.json 2>/dev/null || fail "compact"
[ "$(json moved_bytes compact.json)" -gt 1000000 ] || fail "nothing moved: $(cat compact.json)"
assert_eq "digest after compact" "$(digest volume)" "$before"
ordered volume next random tree
rm volume

# Archives, in one pass.
tar -C tree --format=pax --sort=name -c . >tree.tar
for jobs in 1 8; do
    mkdatasetfs --progress none --uuid $uuid --order random -j $jobs "tar$jobs" - <tree.tar >pack.log || fail "a tar"
done
cmp tar1 tar8 || fail "other bytes of a tar with other threads"
ordered tar1 tree random
assert_eq "digest of a tar" "$(digest tar1)" "$(digest plain)"
rm tar?

# Several members: neighbours by place are neighbours on a member.
pack a,b,c tree --order random --segment-size 1M --protect mirror:2
ordered a,b,c tree random
assert_eq "members" "$(cut -d ' ' -f 2 placed | sort -u | tr '\n' ' ')" "- 0 1 2 "
pack a next --label v2
ordered a,b,c next random tree

# Little room for temporary files, and words that are no order.
mkdatasetfs --dry-run --json --order tree fresh tree >tree.json
mkdatasetfs --dry-run --json --order random fresh tree >random.json
more=$(($(json temporary_bytes random.json) - $(json temporary_bytes tree.json)))
[ $more -gt 15000000 ] && [ $more -lt 25000000 ] || fail "a random order takes $more bytes more of temporary files"
for word in any random: random:x random:-1 tree:1; do
    assert_fails 2 "order" mkdatasetfs --order $word fresh tree
done
mkdir empty
pack fresh empty --order random --allow-empty
assert_eq "order of nothing" "$(order fresh)" random
assert_eq "files of nothing" "$(library_tree fresh placed)" ""
