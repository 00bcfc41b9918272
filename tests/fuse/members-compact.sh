#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan timeout=300
# Readers of mounts of a volume of several members while it is published to and compacted: a mount that follows goes
# along, every byte is right, nobody sees an error; also with a member missing for the mount.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_command python3

# change SALT: most of the small files, and a piece of the large one
change() {
    python3 - "$1" <<'END'
import os, random, sys
rng = random.Random(int(sys.argv[1]))
os.makedirs("source/moving", exist_ok=True)
for i in range(200):
    if rng.random() < 0.7:
        with open(f"source/moving/{i}", "wb") as out:
            out.write(rng.randbytes(rng.randrange(30000)))
END
}

mkdir -p source/staying away
for i in {1..200}; do head -c $((i * 150)) /dev/urandom >source/staying/$i; done
head -c 3000000 /dev/urandom >source/staying/large
(cd source/staying && sha256sum -- *) >sums

# read_on: all that stays in every version, again and again, with what the kernel has in memory dropped
read_on() {
    local rounds=0
    until [ -e stop ]; do
        (cd mnt/staying && sha256sum --quiet --strict -c "$OLDPWD/sums") >>reads.log 2>&1 || return 1
        rounds=$((rounds + 1))
        echo $rounds >rounds
    done
}

read_again() {
    [ "$(cat rounds)" -ge $(($1 + 1)) ]
}

sequence_is() {
    [ "$(json sequence mnt/.datasetfs/version)" = "$1" ]
}

for protection in none mirror:2; do
    say "$protection"
    rm -f a b c stop reads.log rounds
    change 1
    pack a,b,c source --label one --segment-size 1M --protect $protection
    change 2
    pack a source --label two
    mount_volume b mnt -o follow=current:1
    echo 0 >rounds
    read_on &
    reader=$!
    compacted=0
    for round in $(seq 3 "$(length 5 12)"); do
        change "$round"
        pack a source --label "v$round"
        datasetfsctl remove --force a "$([ "$round" = 3 ] && echo one || echo "v$((round - 1))")" >/dev/null 2>&1
        datasetfsctl compact --json --below 90 c >compact.json 2>compact.err || fail "compact: $(cat compact.err)"
        [ "$(json segments compact.json)" = 0 ] || compacted=$((compacted + 1))
        sequence=$(datasetfsctl list --json a | python3 -c '
import json, sys
listed = json.load(sys.stdin)
print(*(v["sequence"] for v in listed["versions"] if v["label"] == listed["current"]))')
        wait_for 60 sequence_is "$sequence" || fail "the mount does not follow: $(cat daemon.log)"
        wait_for 60 read_again "$(cat rounds)" || fail "nobody reads: $(cat reads.log)"
    done
    touch stop
    wait $reader || fail "a reader: $(cat reads.log)"
    [ $compacted -gt 0 ] || fail "there was never anything to compact"
    compare source mnt || fail "the mount has something else"
    assert_eq "failures" "$(stats mnt read_failures)" 0
    unmount mnt
    datasetfsctl verify a >verify.out || fail "verify: $(cat verify.out)"
    say "$compacted times compacted, read $(cat rounds) times"
done

mv a away
mount_volume b mnt
compare source mnt || fail "without a member: the mount has something else"
unmount mnt
