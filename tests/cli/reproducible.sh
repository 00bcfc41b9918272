#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: timeout=240
# The same source onto a fresh volume with a given UUID gives the same bytes: for any number of threads and any order
# in which directories are listed. The digest is the same on any volume, compressed or not.
. "$(dirname "$0")/../lib/common.sh"

tree nasty source --no-special --plain-owners 2>/dev/null
tree random source/random --seed 8 --files 300
tree many source/many --files 3000 --per-directory 500
uuid=01234567-89ab-cdef-0123-456789abcdef
export SOURCE_DATE_EPOCH=1700000000

# digest VOLUME
digest() {
    datasetfsctl list --json "$1" | json versions.0.digest
}

for mode in none auto zstd:3; do
    pack one source --uuid $uuid --compress $mode -j1
    expected=$(hash_of one)
    for jobs in 2 16; do
        pack other source --uuid $uuid --compress $mode -j$jobs
        assert_eq "$mode with -j$jobs" "$(hash_of other)" "$expected"
        rm other
    done
    if [ -z "${DATASETFS_SANITIZER:-}" ]; then
        [ -e shuffle.so ] || c_program lib/shuffle -fPIC -shared -ldl
        [ -e shuffle.so ] || mv shuffle shuffle.so
        for seed in 1 2 3; do
            SHUFFLE=$seed LD_PRELOAD=$PWD/shuffle.so pack other source --uuid $uuid --compress $mode
            assert_eq "$mode with directories shuffled by $seed" "$(hash_of other)" "$expected"
            rm other
        done
    fi
    [ -n "${first:-}" ] || first=$(digest one)
    assert_eq "digest of $mode" "$(digest one)" "$first"
    rm one
done

for mode in none zstd:3; do
    pack one source --uuid $uuid --compress $mode --sums sha256 -j1
    pack other source --uuid $uuid --compress $mode --sums sha256 -j16
    assert_eq "$mode with SHA-256 and -j16" "$(hash_of other)" "$(hash_of one)"
    [ -n "${proved:-}" ] || proved=$(digest one)
    assert_eq "digest of $mode with SHA-256" "$(digest one)" "$proved"
    rm one other
done
[ "$proved" != "$first" ] || fail "the digest does not tell the kind of sums"

if [ -e shuffle.so ]; then
    # The shuffling is real: a plain listing comes in another order.
    plain=$(python3 -c 'import os; print(os.listdir("source/wide")[:20])')
    mixed=$(SHUFFLE=1 LD_PRELOAD=$PWD/shuffle.so python3 -c 'import os; print(os.listdir("source/wide")[:20])')
    [ "$plain" != "$mixed" ] || fail "the library does not shuffle"
fi

# A copy of the tree in another place, on another volume, has the same digest.
cp -a source/random copy
pack a source/random
pack b copy --chunk-size 128K
assert_eq "digest of a copy" "$(digest b)" "$(digest a)"
cmp a b && fail "two volumes without --uuid have the same UUID"
name=$(cd copy && find . -type f ! -name $'*[^a-zA-Z0-9._-]*' -printf '%P\n' | LC_ALL=C sort | sed -n 1p)
echo changed >"copy/$name"
pack c copy
[ "$(digest c)" != "$(digest a)" ] || fail "the digest does not see a change"

# Times come from SOURCE_DATE_EPOCH.
assert_eq "created" "$(datasetfsctl list --json c | json versions.0.created)" 1700000000
