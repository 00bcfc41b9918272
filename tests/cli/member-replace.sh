#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=600
# datasetfsctl member: what it lists; a member is replaced by another file, or comes back itself; what is copied, what
# is read for that; killed at ten points the same command goes on; slips, and devices that come back when they are not
# wanted any more.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/fault.c" -o fault.so || fail "fault.c does not compile"

# of NUMBER KEY [VOLUME]: of a member
of() {
    datasetfsctl member list --json "${3:-a}" | python3 -c '
import json, sys
print(json.load(sys.stdin)["members"][int(sys.argv[1])][sys.argv[2]])' "$@"
}

# whole VOLUME WHAT: every copy of every byte is right, and somebody publishes
whole() {
    datasetfsctl verify "$1" >verify.log 2>&1 || fail "$2: $(cat verify.log)"
    assert_eq "$2: digest" "$(datasetfsctl dump "$1" one | sha256sum)" "$one"
    mkdatasetfs --progress none "$1" source >next.log 2>&1 || fail "$2: the next publish: $(cat next.log)"
    datasetfsctl verify "$1" >verify.log 2>&1 || fail "$2: after the next publish: $(cat verify.log)"
}

# said KEY: in the JSON of the last replacement
said() {
    json "$1" <replaced.json
}

# replace VOLUME OLD NEW
replace() {
    datasetfsctl member replace --json "$@" >replaced.json 2>replaced.err || fail "replace: $(cat replaced.err)"
}

back() {
    rm -f a b c d new
    cp base/* .
}

mkdir -p source/many base away
for i in {1..60}; do head -c $((i * 997)) /dev/urandom >source/many/$i; done
head -c 20000000 /dev/urandom >source/large
pack a,b,c,d source --label one --segment-size 1M --protect mirror:2
cp a b c d base/
one=$(datasetfsctl dump a one | sha256sum)

say "what is listed"
assert_eq "states" "$(of 0 state) $(of 3 state)" "ok ok"
assert_eq "nothing is stale" "$(of 2 stale_since)" None
uuid=$(of 2 uuid)
used=$(of 2 used_bytes)
[ "$used" -gt 3000000 ] || fail "used: $used"
mv c away/
assert_eq "state without c" "$(of 2 state)" missing
assert_contains "text" "$(datasetfsctl member list b)" "missing"
pack single source
assert_fails 1 "the volume is a single file or device" datasetfsctl member list single
assert_fails 2 "expected a verb" datasetfsctl member
assert_fails 2 "unknown verb 'swap'" datasetfsctl member swap

say "a dry run"
replace --dry-run a 2 new
assert_eq "missing bytes" "$(said missing_bytes)" "$used"
assert_eq "incomplete groups" "$(said incomplete_groups)" 0
[ ! -e new ] || fail "a dry run has made a file"
pack e,f,g,h,i source --segment-size 1M --protect mirror:2
rm g i
replace --dry-run e 2 new
lacking=$(said incomplete_groups)
[ "$lacking" -gt 0 ] || fail "it does not say that member 4 is missing as well"
grep -qE "^datasetfsctl: [0-9.]+ MiB would still have one copy only, as other members are missing or stale: '$(
    )datasetfsctl member list' shows them$" replaced.err || fail "what it warns of: $(cat replaced.err)"
replace e 2 new
assert_eq "as the dry run said" "$(said incomplete_groups)" "$lacking"
assert_contains "what it warns of" "$(cat replaced.err)" " MiB have one copy only, as other members are"
assert_contains "what it warns of" "$(cat replaced.err)" ": member 4 ("
rm e f h new

say "slips"
before=$(cat a b d | sha256sum)
assert_fails 1 "there is no member 4: they are 0 to 3" datasetfsctl member replace a 4 new
assert_fails 1 "'nobody' is no member of the volume" datasetfsctl member replace a nobody new
assert_fails 1 "'b' is member 1 of the volume" datasetfsctl member replace a 2 b
replace a b b
assert_eq "a member that lacks nothing" "$(said itself) $(said read_bytes)" "true 0"
assert_fails 1 "'single' holds a datasetfs volume, or a member of one, --force replaces it" \
    datasetfsctl member replace a 2 single
echo text >text
assert_fails 1 "'text' holds something that is not a datasetfs volume" datasetfsctl member replace a 2 text
assert_fails 1 "'/dev/nothing': there is no such device" datasetfsctl member replace a 2 /dev/nothing
assert_eq "the volume after all that" "$(cat a b d | sha256sum)" "$before"

say "replaced"
# what is read of the others behind 5 MiB, where groups begin
env FAULT_KIND=read FAULT_AT=0 FAULT_FROM=5242880 FAULT_COUNT="$PWD/count" FAULT_BYTES="$PWD/bytes" \
    FAULT_VOLUME="$PWD/a,$PWD/b,$PWD/d" LD_PRELOAD="$PWD/fault.so" \
    datasetfsctl member replace --json a "$uuid" new >replaced.json 2>replaced.err ||
    fail "replace: $(cat replaced.err)"
assert_eq "copied" "$(said written_bytes)" "$used"
assert_eq "read, as it says" "$(said read_bytes)" "$used"
[ "$(cat bytes)" -ge "$used" ] || fail "read $(cat bytes) bytes of $used: the counter counts nothing"
[ $(($(cat bytes) * 100)) -le $((used * 105)) ] || fail "read $(cat bytes) bytes of $used"
assert_eq "incomplete groups" "$(said incomplete_groups)" 0
assert_eq "its name" "$(basename "$(of 2 name)")" new
[ "$(of 2 uuid)" != "$uuid" ] || fail "it has the UUID of the former member"
whole a "replaced"
cp away/c c
assert_eq "the former member beside it counts for nothing" "$(basename "$(of 2 name)")" new
assert_fails 1 "'c' was a member of the volume in superblock 1 and is none in" datasetfsctl list a,b,c,d
assert_fails 1 "'c' was a member of the volume in superblock 1 and is none in" datasetfsctl list c
assert_fails 1 "'c' holds a datasetfs volume" datasetfsctl member replace a 2 c
replace --force a 2 c
assert_eq "forced: its name" "$(basename "$(of 2 name)")" c
assert_fails 1 "'new' was a member" datasetfsctl list new
whole a "forced"

say "a member that is there, by its path"
back
replace a "$PWD/b" new
assert_eq "its name" "$(basename "$(of 1 name)")" new
whole a "replaced while it was there"

say "a member that fails"
back
env FAULT_KIND=write FAULT_AT=1 FAULT_TIMES=1000000 FAULT_VOLUME="$PWD/c" LD_PRELOAD="$PWD/fault.so" \
    datasetfsctl member replace --json a 2 new >replaced.json 2>replaced.err || fail "no write: $(cat replaced.err)"
assert_eq "the lines" "$(cat replaced.err)" ""
cmp c base/c || fail "the former member was written to"
rm c
whole a "replaced as nothing could be written to it"
back
env FAULT_KIND=read FAULT_AT=1 FAULT_TIMES=1000000 FAULT_FROM=262144 FAULT_TO=266240 FAULT_VOLUME="$PWD/c" \
    LD_PRELOAD="$PWD/fault.so" datasetfsctl member replace --json a 2 new >replaced.json 2>replaced.err ||
    fail "a superblock slot that cannot be read: $(cat replaced.err)"
rm c
whole a "replaced as a slot could not be read"

say "what is wrong on one member is taken from another"
# spoil_groups FILE: flips bytes behind 5 MiB, where groups begin
spoil_groups() {
    python3 - "$1" <<'END'
import os, sys
with open(sys.argv[1], "r+b") as f:
    size = os.fstat(f.fileno()).st_size
    for at in range((5 << 20) + 5000, size, 150001):
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 0xff]))
END
}
back
for member in a b d; do spoil_groups $member; done
replace a 2 new
[ "$(said wrong)" -gt 10 ] || fail "nothing was found to be wrong: $(cat replaced.json)"
assert_eq "wrong everywhere" "$(said damaged)" 0
for member in a b d; do dd if=base/$member of=$member bs=1M skip=5 seek=5 conv=notrunc status=none; done
rm c
whole a "replaced from members that were wrong"
back
rm c
for member in a b d; do spoil_groups $member; done
replace a 2 new
[ "$(said damaged)" -gt 10 ] || fail "damage that nobody can mend: $(cat replaced.json)"
assert_contains "the warning" "$(cat replaced.err)" "are wrong on all members and were copied as they are"

say "a volume without copies"
rm -rf plain && mkdir plain
pack plain/a,plain/b source --label one --segment-size 1M
datasetfsctl member replace plain/a 1 plain/new >out 2>err || fail "a member that is there: $(cat err)"
datasetfsctl verify plain/a >verify.log 2>&1 || fail "plain: $(cat verify.log)"
rm plain/new
assert_fails 1 "1 of 2 members are missing" datasetfsctl member replace plain/a 1 plain/again

say "a member comes back"
back
mv c away/
head -c 3000000 /dev/urandom >source/added
mkdatasetfs --progress none --degraded --label two a source >pack.log 2>&1 || fail "degraded: $(cat pack.log)"
cp away/c .
assert_eq "state" "$(of 2 state) $(of 2 stale_since)" "stale 1"
replace a 2 c
assert_eq "itself" "$(said itself)" true
[ "$(said read_bytes)" -lt 3500000 ] || fail "read again: $(cat replaced.json)"
assert_eq "kept" "$(($(said kept_bytes) + $(said read_bytes)))" "$(said used_bytes)"
assert_eq "state" "$(of 2 state)" ok
whole a "a member that came back"

say "a member comes back, but was used for something else meanwhile"
cp away/c .
printf 'label: gpt\nsize=1M\n' | sfdisk -q --no-reread c >/dev/null 2>&1 || fail "sfdisk"
spoil_groups c # as mkfs(8) writes anywhere
foreign=$(sha256sum <c)
assert_fails 1 "'c' holds a partition table of type gpt, --force replaces it" datasetfsctl member replace a 2 c
assert_eq "what is refused" "$(sha256sum <c)" "$foreign"
replace --force a 2 c
assert_eq "none of it was kept" "$(said itself) $(said kept_bytes)" "false 0"
whole a "a member that was used for something else"

say "of two, one was away: what was written without it gets its copies"
rm -rf two && mkdir two
pack two/a,two/b source --label one --segment-size 1M --protect mirror:2
mv two/b away/b
head -c 2000000 /dev/urandom >source/added
mkdatasetfs --progress none --degraded=half --label half two/a source >pack.log 2>&1 || fail "half: $(cat pack.log)"
mv away/b two/b
replace two/a 1 two/b
assert_eq "incomplete groups" "$(said incomplete_groups)" 0
mv two/a away/a2
mkdatasetfs --progress none --dry-run --degraded=half two/b source >/dev/null 2>&1 || fail "dry run"
for label in one half; do
    datasetfsctl dump two/b $label >/dev/null || fail "'$label' cannot be read from the member that was away"
done
datasetfsctl verify two/b >verify.log 2>&1 || true
assert_contains "all of it is there" "$(cat verify.log)" "unknown: "
assert_contains "all of it is there" "$(cat verify.log)" "damaged=0"

say "killed"
count() { # writes to all files
    back
    rm c
    : >new # so that it is known by its name
    env FAULT_KIND=write FAULT_AT=0 FAULT_COUNT="$PWD/count" FAULT_VOLUME="$PWD/a,$PWD/b,$PWD/d,$PWD/new" \
        LD_PRELOAD="$PWD/fault.so" datasetfsctl member replace --json a 2 new >replaced.json 2>replaced.err ||
        fail "counting run: $(cat replaced.err)"
}
count
total=$(cat count)
parts=0
say "$total writes"
for ((point = 0; point < 10; point++)); do
    back
    rm c
    : >new
    at=$((1 + point * (total - 1) / 9))
    env FAULT_KIND=write FAULT_AT=$at FAULT_STOP=1 FAULT_VOLUME="$PWD/a,$PWD/b,$PWD/d,$PWD/new" \
        LD_PRELOAD="$PWD/fault.so" datasetfsctl member replace a 2 new >out 2>err &
    worker=$!
    wait_for 60 is_stopped $worker || fail "it does not stop at write $at: $(cat err)"
    kill -KILL $worker
    wait $worker 2>killed.log || true
    assert_eq "what is there after write $at" "$(datasetfsctl dump a one | sha256sum)" "$one"
    replace a 2 new
    assert_eq "all that it has, after write $at" $(($(said kept_bytes) + $(said read_bytes))) "$(said used_bytes)"
    whole a "killed at write $at"
    [ "$(said kept_bytes)" = 0 ] || [ "$(said read_bytes)" = 0 ] || parts=$((parts + 1))
done
[ $parts -gt 0 ] || fail "nothing was gone on with in the middle"
assert_eq "the last one had all" "$(said read_bytes)" 0

say "cut off, and used for something else then"
back
: >new
env FAULT_KIND=write FAULT_AT=5 FAULT_VOLUME="$PWD/new" LD_PRELOAD="$PWD/fault.so" \
    datasetfsctl member replace a 2 new >out 2>err && fail "it goes on without a write"
replace --dry-run a 2 new
assert_eq "it can go on" "$(said resumed)" true
mkswap new >/dev/null 2>&1 || fail "mkswap"
assert_fails 1 "'new' holds a filesystem or volume of type swap, --force replaces it" \
    datasetfsctl member replace a 2 new
replace --force a 2 new
whole a "forced over what is there instead"

say "forced over a file that somebody has open"
back
cp single kept
exec 9<single
echo mine >single.new-datasetfsctl
replace --force a 2 single
assert_eq "a file beside it" "$(cat single.new-datasetfsctl)" mine
rm single.new-datasetfsctl
cmp kept /proc/self/fd/9 || fail "the other file was written to"
exec 9<&-
ls single.new* 2>/dev/null && fail "a file is left"
whole a "forced over an open file"
cp kept single
back
# shellcheck disable=SC2016 # the shell becomes the program, and has its number
sh -c 'echo mine >single.new.$$; exec datasetfsctl member replace --progress none --force a 2 single' >/dev/null ||
    fail "a file beside it keeps the member from being replaced"
assert_eq "a file beside it" "$(cat single.new.*)" mine
rm single.new.*
cp kept single

say "a name that is not durable: nothing names the new member"
for file in new single; do
    back
    [ $file = new ] || cp kept single
    before=$(cat a b c d | sha256sum)
    env FAULT_KIND=directory FAULT_AT=1 LD_PRELOAD="$PWD/fault.so" \
        datasetfsctl member replace --force a 2 $file >out 2>err && fail "nobody flushed the directory of '$file'"
    assert_contains "the line" "$(cat err)" "cannot flush the directory of '$file'"
    assert_eq "the members" "$(cat a b c d | sha256sum)" "$before"
done
cp kept single

say "a block that cannot be read on the only other member"
back
rm c
env FAULT_KIND=read FAULT_AT=1 FAULT_TIMES=1000000 FAULT_FROM=7000064 FAULT_VOLUME="$PWD/d" \
    LD_PRELOAD="$PWD/fault.so" datasetfsctl member replace a 2 new >out 2>err &&
    fail "it says that it is done: $(cat out)"
assert_contains "the line" "$(cat err)" \
    " of member 3 cannot be read, and no other member that is there has them"
at=$(sed -n 's/.*: 4096 bytes at offset \([0-9]*\) of member 3 .*/\1/p' err)
[ "$at" -ge 6995968 ] && [ $((at % 4096)) = 0 ] || fail "not the block: $(cat err)"
assert_contains "the way out" "$(cat err)" "bring a missing member back, or remove the versions that have them"
assert_eq "lines" "$(wc -l <err)" 1
replace a 2 new
assert_eq "it goes on" "$(said resumed)" true
whole a "a block that could be read later"
back
env FAULT_KIND=read FAULT_AT=1 FAULT_TIMES=1000000 FAULT_FROM=7000064 FAULT_VOLUME="$PWD/d" \
    LD_PRELOAD="$PWD/fault.so" datasetfsctl member replace a 2 new >out 2>err ||
    fail "the former one has it: $(cat err)"
rm c
whole a "a block that the former member had"

say "what was copied is not lost"
# Of groups that are older than its last superblock a stale member has all, but nothing is copied from it.
rm -rf three && mkdir three
pack three/a,three/b,three/c source --label one --segment-size 1M --protect mirror:2
mv three/b away/b3
head -c 2000000 /dev/urandom >source/added
mkdatasetfs --progress none --degraded --label two three/a source >pack.log 2>&1 || fail "degraded: $(cat pack.log)"
mv away/b3 three/b
cp -r three three.kept
: >three/new
env FAULT_KIND=write FAULT_AT=0 FAULT_COUNT="$PWD/count" FAULT_VOLUME="$PWD/three/new" LD_PRELOAD="$PWD/fault.so" \
    datasetfsctl member replace three/c 0 three/new >out 2>err || fail "counting run: $(cat err)"
cp three.kept/* three/
: >three/new
env FAULT_KIND=write FAULT_AT=$(($(cat count) - 3)) FAULT_VOLUME="$PWD/three/new" LD_PRELOAD="$PWD/fault.so" \
    datasetfsctl member replace three/c 0 three/new >out 2>err && fail "it goes on without a write"
rm three/a
assert_fails 1 "that nobody else has: bring stale members back first" datasetfsctl member replace three/c 0 three/other
replace three/c 0 three/new
assert_eq "all was there" "$(said kept_bytes)" "$(said used_bytes)"

say "interrupted"
back
rm c
: >new
before=$(cat a b d | sha256sum)
env --default-signal=INT FAULT_KIND=write FAULT_AT=5 FAULT_STOP=1 FAULT_VOLUME="$PWD/new" LD_PRELOAD="$PWD/fault.so" \
    datasetfsctl member replace a 2 new >out 2>err &
worker=$!
wait_for 60 is_stopped $worker || fail "it does not stop: $(cat err)"
kill -INT $worker
kill -CONT $worker
exits 130 wait $worker
assert_eq "the line" "$(cat err)" "datasetfsctl: cannot replace member '2' of 'a' by 'new': interrupted"
assert_eq "the volume" "$(cat a b d | sha256sum)" "$before"
replace a 2 new
whole a "interrupted"
