#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# Volumes that are changed while members are missing: who may, who may not, what the members that were away are good for
# when they are back, and halves that went ways of their own.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

# versions VOLUME: labels and sequences
versions() {
    datasetfsctl list --json "$1" |
        python3 -c '
import json, sys
print(*("{label}:{sequence}".format(**v) for v in json.load(sys.stdin)["versions"]))'
}

# whole VOLUME WHAT: every byte that it should have is there, though members are missing
whole() {
    local rc=0
    datasetfsctl verify "$1" >verify.log 2>&1 || rc=$?
    [ $rc = 0 ] || [ $rc = 2 ] || fail "$2: $(cat verify.log)"
    ! grep -v '^unknown member [0-9]*: it is missing$' verify.log | grep -v "^version.*: clean" |
        grep -v " damaged=0$" || fail "$2"
}

# data VOLUME LABEL: the dump of a version, by any member that is there
data() {
    datasetfsctl dump "$1" "$2" | sha256sum
}

change() {
    head -c $((RANDOM * 10 + 1000)) /dev/urandom >source/many/$((RANDOM % 60 + 1))
    head -c 2500000 /dev/urandom >source/large
}

mkdir -p source/many away
for i in {1..60}; do head -c $((i * 797)) /dev/urandom >source/many/$i; done
head -c 3000000 /dev/urandom >source/large
pack a,b,c,d source --label one --segment-size 1M --protect mirror:2
keep() { mkdir -p "keep/$1" && cp "${@:2}" "keep/$1/"; }
back() { cp "keep/$1"/* .; }
keep whole a b c d

say "a stat cache is read from the copy that is there"
for gone in a b c d; do
    rm "$gone"
    others=(?)
    mkdatasetfs --progress none --degraded --trust-mtime --label again "${others[0]}" source >pack.log 2>&1 ||
        fail "without $gone: $(cat pack.log)"
    ! grep "every file is read" pack.log || fail "without $gone"
    back whole
done

say "content that repeats itself is compared by the copy that is there"
mkdir three again
head -c 2500000 <(yes "the same again!") >again/file # equal chunks, on each member
pack three/a,three/b,three/c again --label one --segment-size 1M --protect mirror:2
echo new >again/new
for gone in a b c; do
    rm -rf left && cp -r three left && rm left/$gone
    others=(left/?)
    mkdatasetfs --progress none --degraded --label two "${others[0]}" again >pack.log 2>&1 ||
        fail "without $gone: $(cat pack.log)"
done
rm -rf three again left

say "without a member"
mv c away/
assert_fails 1 "member 2 is missing: a volume is changed only when all its members are there; 'datasetfsctl member \
replace' brings it back or puts another in its place, --degraded goes on without it" mkdatasetfs a source
assert_fails 1 "member 2 is missing" datasetfsctl current a one
assert_fails 1 "member 2 is missing" datasetfsctl remove a one
assert_fails 2 "'most' is not half" mkdatasetfs --degraded=most a source
exits 2 datasetfsctl scrub --repair a >scrub.log 2>&1
! grep -q stale scrub.log || fail "a repair makes nobody stale: $(cat scrub.log)"
change
mkdatasetfs --degraded --label two a source >pack.log 2>&1 || fail "degraded publish: $(cat pack.log)"
assert_eq "who becomes stale" "$(grep -c "member 2 (.*) is missing and becomes stale by this change" pack.log)" 1
assert_eq "versions" "$(versions b)" "one:1 two:8192"
whole d "after a degraded publish"
two=$(data a two)
cp away/c .
assert_fails 1 "member 2 is stale since superblock 1" mkdatasetfs a source
whole c "with the stale member"
assert_eq "the version by the stale member" "$(data c two)" "$two"
change
mkdatasetfs --degraded --label three d source >pack.log 2>&1 || fail "degraded publish: $(cat pack.log)"
! grep -q "becomes stale" pack.log || fail "it was stale before: $(cat pack.log)"
assert_eq "versions" "$(versions b)" "one:1 two:8192 three:8193"
assert_eq "the stale member stays as it was" "$(hash_of c)" "$(hash_of away/c)"
datasetfsctl current --degraded a one >/dev/null || fail "current"
datasetfsctl remove --degraded a two >/dev/null || fail "remove"
whole a "after a degraded remove"
keep stale a b d

say "another member is lost"
mv a away/
assert_fails 1 "2 of 4 members are missing" mkdatasetfs --degraded b source
mv away/a .

say "orders"
for order in a,b,c,d d,c,b,a c,a,d,b b,d,a,c; do
    assert_eq "versions by $order" "$(versions $order)" "one:1 three:8193"
done
data=$(data a three)
for member in a b c d; do assert_eq "the version by $member" "$(data $member three)" "$data"; done

say "a stale member that is of the past, and one that went on"
back whole
rm c
mkdatasetfs --degraded --label two a source >/dev/null 2>&1 || fail "degraded publish"
keep without-c a b d
back whole # c goes on without d
rm d
mkdatasetfs --degraded --label other a source >/dev/null 2>&1 || fail "degraded publish"
cp keep/without-c/a .
assert_fails 1 "is of another branch" datasetfsctl list a,b,c
assert_fails 1 "member 2 is 'c'" datasetfsctl list a,b,c
assert_fails 1 "is of another branch" mkdatasetfs --degraded a,b,c source
cp keep/without-c/* .
assert_fails 1 "is of another branch" datasetfsctl list d,c,b,a
assert_fails 1 "is of another branch" datasetfsctl list c

say "a publisher that was cut off, on a member that is away then"
back whole
mkdatasetfs --label two a source >/dev/null 2>&1 || fail "publish"
cp a away/a
back whole
rm a
mkdatasetfs --degraded --label two b source >/dev/null 2>&1 || fail "degraded publish"
assert_eq "versions" "$(versions b)" "one:1 two:12288"
cp away/a .
assert_fails 1 "is of another branch" datasetfsctl list b,a,d,c

say "two halves"
rm -f a b c d
pack a,b source --label one --segment-size 1M --protect mirror:2
mv b away/
assert_fails 1 "1 of 2 members are missing, which is half: --degraded=half if the other half is not changed" \
    mkdatasetfs --degraded a source
change
mkdatasetfs --degraded=half --label left a source >pack.log 2>&1 || fail "half: $(cat pack.log)"
change
mkdatasetfs --degraded=half --label left2 a source >pack.log 2>&1 || fail "half: $(cat pack.log)"
assert_eq "versions" "$(versions a)" "one:1 left:8192 left2:8193"
whole a "after a publish to one half"
mv a away/
cp away/b b
mkdatasetfs --degraded=half --label right b source >pack.log 2>&1 || fail "half: $(cat pack.log)"
assert_eq "versions" "$(versions b)" "one:1 right:12288"
cp away/a a
assert_fails 1 "is of another branch" datasetfsctl list a
assert_fails 1 "is of another branch" datasetfsctl list b
assert_fails 1 "is of another branch" mkdatasetfs --degraded=half b,a source
mkdir other
cp a other/
assert_fails 1 "is of another branch" datasetfsctl member replace b 0 a
mv a other/
datasetfsctl member replace b 0 other/a >replace.log 2>&1 || fail "the half that is given up: $(cat replace.log)"
mv other/a .
for member in a b; do assert_eq "versions by $member" "$(versions $member)" "one:1 right:12288"; done
whole a "a half that took the other one's state"
cp away/a a
cp away/b b
whole a "a half, and the other one as it was"
assert_eq "versions" "$(versions b)" "one:1 left:8192 left2:8193"

say "without copies nothing goes on"
rm -f a b
pack a,b,c source --segment-size 1M
rm b
assert_fails 1 "1 of 3 members are missing: member 1" mkdatasetfs --degraded a source

say "an unknown device says that it has the newest state"
rm -f a b c d && rm -rf keep away other && mkdir other
pack a,b,c,d source --label one --segment-size 1M --protect mirror:2
cp a b c d other/
for i in 1 2 3; do mkdatasetfs --label more$i other/a source >/dev/null 2>&1 || fail "publish"; done
datasetfsctl member replace a c new >replace.log 2>&1 || fail "replace: $(cat replace.log)"
data=$(data a one)
cp other/c c
assert_eq "versions with it in the same folder" "$(versions a)" "one:1"
assert_contains "who is a member" "$(datasetfsctl member list b)" "/new"
whole d "with an unknown device"
assert_fails 1 "is of another branch" datasetfsctl list c
assert_fails 1 "is of another branch" datasetfsctl list a,b,c,d
rm c

say "a member comes back, and one is replaced while another one is missing"
mkdir away
mv d away/
change
mkdatasetfs --degraded --label two a source >pack.log 2>&1 || fail "degraded publish: $(cat pack.log)"
mv b away/
assert_fails 1 "2 of 4 members are missing" mkdatasetfs --degraded a source
mv away/d .
assert_contains "the stale member" "$(datasetfsctl member list d)" "stale since 2"
datasetfsctl member replace --json a 3 d >replaced.json 2>replace.log || fail "replace: $(cat replace.log)"
assert_contains "what is still missing" "$(cat replace.log)" "have one copy only, as other members are missing"
datasetfsctl member replace a 1 fresh >replace.log 2>&1 || fail "replace: $(cat replace.log)"
assert_contains "all is there" "$(cat replace.log)" "every group has all its columns"
datasetfsctl verify a >verify.log 2>&1 || fail "verify: $(cat verify.log)"
assert_eq "content" "$(data fresh one)" "$data"
mkdatasetfs a source >pack.log 2>&1 || fail "publish: $(cat pack.log)"
