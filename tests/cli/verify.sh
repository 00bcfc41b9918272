#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke in=asan
# verify: 0 clean, 1 damaged and where, 2 could not look; samples and shards cover what they should.
. "$(dirname "$0")/../lib/common.sh"

mkdir source
for i in {1..40}; do head -c 50000 /dev/urandom >source/$i; done
pack volume source
datasetfsctl verify volume >clean.txt || fail "a clean volume: $(cat clean.txt)"
assert_contains "verify" "$(cat clean.txt)" "clean"
assert_eq "damaged" "$(datasetfsctl verify --json volume | json damaged)" 0
datasetfsctl verify --sample 10% --seed 5 volume >/dev/null || fail "--sample"

read -r _ _ _ offset stored < <(datasetfsctl stat --json volume 17 | python3 "$LIB/chunks.py")
printf '\252\125\252' | dd of=volume bs=1 seek=$((offset + stored / 3)) conv=notrunc status=none
exits 1 datasetfsctl verify volume >damaged.txt 2>&1
assert_contains "verify" "$(cat damaged.txt)" "damaged '17'"
assert_contains "verify" "$(cat damaged.txt)" "offset=$offset"
assert_eq "damaged lines" "$(grep -c "^damaged '" damaged.txt)" 1
exits 1 datasetfsctl verify --json volume >damaged.json
assert_eq "path" "$(json versions.0.damage.0.path damaged.json)" 17

# Exactly one shard has it.
hits=0
for shard in 1/4 2/4 3/4 4/4; do
    rc=0
    datasetfsctl verify --shard $shard volume >/dev/null 2>&1 || rc=$?
    case $rc in 0) ;; 1) hits=$((hits + 1)) ;; *) fail "shard $shard: status $rc" ;; esac
done
assert_eq "shards that found it" $hits 1
exits 1 datasetfsctl verify --sample 100% volume >/dev/null 2>&1

# The source section, in which a publisher remembers its source: --trust-mtime believes it.
rm volume
pack volume source
python3 - <<'END' || fail "the source section is not found"
import os, struct
data = bytearray(open("volume", "rb").read())
at = data.index(struct.pack("<2Q", *(os.stat(f"source/{name}").st_ino for name in (1, 10))))
data[at] ^= 1
open("volume", "wb").write(data)
END
exits 1 datasetfsctl verify volume >damaged.txt 2>&1
assert_contains "verify" "$(cat damaged.txt)" \
    "damaged source section: its SHA-256 is not the one in the catalogue version=v1"
assert_eq "damaged lines" "$(grep -c '^damaged ' damaged.txt)" 1

for target in missing source /dev/null; do
    exits 2 datasetfsctl verify $target >/dev/null 2>&1
done

# A reason stands with what is damaged or unknown, and with nothing else, not even where another copy was damaged.
# reasons: the state and the name of each part that has one
reasons() {
    datasetfsctl verify --json m0,m1 | python3 -c '
import json, sys
found = json.load(sys.stdin)
for part in found["structures"] + found["versions"][0]["structures"]:
    if "reason" in part:
        print(part["state"], part["what"])'
}
mkdir few
echo content >few/file
pack m0,m1 few --protect mirror:2 --label v1
pack m0,m1 few --label v2
assert_eq "reasons in a sound volume" "$(reasons)" ""
spoil m0 $(((2 << 16) + 100)) # the slot of v2
assert_eq "reasons in a damaged one" "$(reasons)" "damaged superblock slot 2 of member 0"

# A version that is removed and written over while it is read is no damage: stopped before each of its reads in turn.
[ "$DATASETFS_BUILD_NAME" = gcc ] || exit 0
cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/fault.c" -o fault.so || fail "fault.c does not compile"
rm -rf source/*
head -c 3M /dev/urandom >source/one
pack two source --label one --segment-size 1M
head -c 1M /dev/urandom >source/one
pack two source --label two
mkdir other
for i in {1..40}; do head -c 90000 /dev/urandom >other/$i; done
watched=(env FAULT_KIND=read "FAULT_VOLUME=$PWD/volume" "FAULT_COUNT=$PWD/count" "LD_PRELOAD=$PWD/fault.so")
cp two volume
"${watched[@]}" FAULT_AT=0 datasetfsctl verify --jobs 1 volume >removed.txt || fail "verify: $(cat removed.txt)"
reads=$(cat count)
removed=0
for ((n = 1; n <= reads; n++)); do
    cp two volume
    "${watched[@]}" FAULT_AT=$n FAULT_STOP=1 datasetfsctl verify --jobs 1 volume >removed.txt 2>&1 &
    wait_for 20 is_stopped $! || fail "read $n does not stop"
    datasetfsctl remove volume one 2>/dev/null >&2 || fail "remove"
    pack volume other --label three
    kill -CONT $!
    wait $! || fail "read $n of $reads: status $?: $(cat removed.txt)"
    ! grep -q "^damaged" removed.txt || fail "read $n of $reads: $(cat removed.txt)"
    ! grep -q "^version 'one': removed" removed.txt || removed=$((removed + 1))
done
say "$removed of $reads stops: version 'one' was removed"
[ $removed -gt 2 ] || fail "no stop came between the catalogue and the chunks"

# A volume cannot write to a terminal: here by the name of an attribute, for which its version is refused.
mkdir terminal
echo content >terminal/file
setfattr -n user.aaaa -v value terminal/file 2>/dev/null || skip "no user attributes on this filesystem"
pack terminal.vol terminal
"$DATASETFS_BUILD/tests/format/forge" terminal.vol index user.aaaa $'evil.\e[2J' || fail "forge"
for verb in verify scrub; do
    ! datasetfsctl $verb terminal.vol >terminal.txt 2>&1 || fail "$verb of a forged volume"
    assert_contains "what $verb says" "$(cat terminal.txt)" "'evil.\x1b[2J' is not a user attribute"
    ! grep -q $'\e' terminal.txt || fail "$verb prints a control character"
done
