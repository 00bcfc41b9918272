#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# datasetfsctl current and remove: the pointer moves and comes back, removed versions free what nobody else uses, and
# the space is used again; both leave no trace when they fail.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

# current
current() {
    datasetfsctl list --json volume | json current
}

# free: bytes that a publish may use without the volume growing
free() {
    datasetfsctl list --json volume | json free_bytes
}

mkdir source
for label in one two three; do
    rm -f source/own
    head -c 40M /dev/urandom >source/own
    [ -e source/common ] || head -c 20M /dev/urandom >source/common
    pack volume source --label $label
done
digest=$(datasetfsctl dump volume one | sha256sum)
assert_eq "current" "$(current)" three
datasetfsctl current volume one >out || fail "current"
assert_contains "current" "$(cat out)" "version 'one' of 'volume' is now current"
assert_eq "current" "$(current)" one
assert_eq "former" "$(datasetfsctl current --json volume three | json former)" one
before=$(hash_of volume)
datasetfsctl current volume three >/dev/null || fail "current again"
assert_eq "a volume on which it was current already" "$(hash_of volume)" "$before"

assert_fails 1 "the volume has no version 'four'" datasetfsctl current volume four
assert_fails 1 "the volume has no version 'four'" datasetfsctl remove volume four
assert_fails 1 "cannot make 'one' current on 'missing': there is no such file" datasetfsctl current missing one
assert_fails 1 "cannot remove 'one' from 'missing': there is no such file" datasetfsctl remove missing one
assert_fails 1 "it is the current version" datasetfsctl remove volume three
assert_fails 2 "expected VOLUME LABEL" datasetfsctl remove volume
assert_fails 2 "expected VOLUME LABEL" datasetfsctl current volume
assert_eq "the volume after refusals" "$(hash_of volume)" "$before"
assert_eq "publisher" "$(datasetfsctl list --json volume | json publisher)" None

# The space that each version pins: unique and shared bytes add up, and the runs cover the volume without a gap.
datasetfsctl list --json volume >list.json
python3 - "$(stat -c %s volume)" <<'END' || fail "space of list"
import json, sys
listed = json.load(open("list.json"))
at, unique, shared, free = 0, {}, {}, 0
for run in listed["space"]:
    if run["offset"] != at:
        sys.exit(f"a run at {run['offset']}, expected {at}")
    at += run["length"]
    for label in run["versions"]:
        where = unique if len(run["versions"]) == 1 else shared
        where[label] = where.get(label, 0) + run["length"]
    if not run["versions"] and not run["catalogue"]:
        free += run["length"]
ring, tail = 1 << 20, listed["tail"]
behind_tail = min(-tail % listed["segment_size"], at - tail) if tail else 0
free += behind_tail - (ring if not listed["space"][0]["versions"] and not listed["space"][0]["catalogue"] else 0)
if at != int(sys.argv[1]) or free != listed["free_bytes"]:
    sys.exit(f"runs end at {at} with {free} free, of which {behind_tail} lie behind the tail: {listed['free_bytes']}")
for version in listed["versions"]:
    label = version["label"]
    if (version["unique_bytes"], version["shared_bytes"]) != (unique.get(label, 0), shared.get(label, 0)):
        sys.exit(f"{label}: {version['unique_bytes']} {version['shared_bytes']}, expected {unique} {shared}")
    if version["shared_bytes"] == 0 or sum(s["length"] for s in version["segments"]) < version["unique_bytes"]:
        sys.exit(f"{label} shares {version['shared_bytes']}")
END
assert_contains "list" "$(datasetfsctl list volume | tr -s ' ')" " UNIQUE SHARED "
proves="A digest proves names, sizes and attributes, and contents if the sums are sha256."
assert_eq "what list says of digests" "$(datasetfsctl list volume | tail -n 1)" "$proves"
assert_contains "list --help" "$(datasetfsctl list --help)" "$proves"
datasetfsctl list --space volume >space.txt || fail "list --space"
assert_eq "lines of list --space" "$(sed '1,/PINNED BY/d' space.txt | wc -l)" \
    "$(python3 -c 'import json; print(len(json.load(open("list.json"))["space"]))')"
grep -qE '^ +[0-9.]+ MiB +[0-9]+  one two three$' space.txt || fail "what all three pin: $(cat space.txt)"
room=$(json versions.1.unique_bytes list.json)

say "what a version uses alone comes back when it is removed and the rest compacted"
mkdir halves
for i in {1..64}; do head -c 65536 /dev/urandom >halves/$i; done
pack halves.vol halves --segment-size 1M --label one
for i in {1..32}; do head -c 65536 /dev/urandom >halves/$i; done
pack halves.vol halves --label two
datasetfsctl list --space --json halves.vol >halves.json
datasetfsctl list --space halves.vol | tr -s ' ' >halves.txt
assert_contains "list --space" "$(<halves.txt)" " UNIQUE AFTER COMPACT SHARED "
python3 - <<'END' || fail "own bytes"
import json, sys
for version in json.load(open("halves.json"))["versions"]:
    own = 32 * 65536 + sum(-(-version[f"{of}_bytes"] // 4096) * 4096 for of in ("index", "source", "block_checksum"))
    if version["own_bytes"] != own:
        sys.exit(f"{version['label']}: {version['own_bytes']}, expected {own}")
END
own=$(json versions.0.own_bytes halves.json)
[ "$own" -gt "$(json versions.0.unique_bytes halves.json)" ] || fail "nothing more than 'remove' alone gives"
used() { datasetfsctl list --json "$1" | python3 -c 'import json, sys
listed = json.load(sys.stdin)
print(listed["size"] - listed["free_bytes"])'; }
before_own=$(used halves.vol)
datasetfsctl remove halves.vol one 2>/dev/null >&2
datasetfsctl compact --below 100 halves.vol >compact.out 2>&1 || fail "compact: $(cat compact.out)"
back=$((before_own - $(used halves.vol)))
[ $((own - back)) -ge 0 ] && [ $((own - back)) -lt $((1 << 20)) ] || # a segment stays half full
    fail "$back bytes came back, expected $own"
rm -r halves halves.*

# Removing frees what nobody else uses, and says what it cannot know.
before=$(free)
datasetfsctl remove --json volume two >out 2>err || fail "remove: $(cat err)"
assert_contains "the warning" "$(cat err)" "mounts on other hosts cannot be seen from here"
freed=$(json freed_bytes out)
[ "$room" -ge $((16 << 20)) ] || fail "only $room bytes are of one version"
assert_eq "bytes that became free" "$freed" $(($(free) - before))
[ $((freed - room)) -ge -65536 ] && [ $((freed - room)) -le 65536 ] || # the catalogue moves
    fail "remove tells of $freed bytes, $room were unique"
assert_eq "dump of one" "$(datasetfsctl dump volume one | sha256sum)" "$digest"
assert_fails 1 "no version 'two'" datasetfsctl dump volume two
datasetfsctl verify volume >/dev/null || fail "verify after remove"

# The space is used again: a file does not grow by what it had room for.
size=$(stat -c %s volume)
head -c 20M /dev/urandom >source/own
pack volume source --label four
grown=$(($(stat -c %s volume) - size))
[ "$grown" -lt $((8 << 20)) ] || fail "the volume grew by $grown bytes though $freed were free"
assert_eq "sequence" "$(datasetfsctl list --json volume | json versions.2.sequence)" 4
datasetfsctl verify volume >/dev/null || fail "verify after the space was used again"

# Seeded rounds against a model of what must be there.
python3 - "$(length 24 60)" <<'END' || fail "rounds"
import json, os, random, subprocess, sys
seed = int.from_bytes(os.urandom(4), "little")
print("rounds: seed", seed)
rng = random.Random(seed)
run = lambda *words: subprocess.run(words, capture_output=True, text=True)
os.makedirs("tree")
model, current = {}, None
for number in range(int(sys.argv[1])):
    for file in range(rng.randrange(1, 5)):
        with open(f"tree/{rng.randrange(12)}", "wb") as out:
            out.write(rng.randbytes(rng.choice((10, 5000, 300000, 3000000))))
    what = rng.choice(("publish", "publish", "remove", "current"))
    labels = [label for label in model if label != current]
    if what == "publish" or not labels:
        words = ["--label", f"r{number}"] + rng.choice(([], ["--trust-mtime"])) + rng.choice(([], ["--no-current"]))
        done = run("mkdatasetfs", "--progress", "none", "--json", "--segment-size=1M", "rounds", "tree", *words) \
            if number == 0 else run("mkdatasetfs", "--progress", "none", "--json", "rounds", "tree", *words)
        if done.returncode:
            sys.exit(done.stderr)
        model[f"r{number}"] = json.loads(done.stdout)["digest"]
        current = current if "--no-current" in words else f"r{number}"
    else:
        label = rng.choice(labels)
        done = run("datasetfsctl", what, "rounds", label)
        if done.returncode:
            sys.exit(done.stderr)
        if what == "remove":
            del model[label]
        else:
            current = label
    found = json.loads(run("datasetfsctl", "list", "--json", "rounds").stdout)
    if {v["label"]: v["digest"] for v in found["versions"]} != model or found["current"] != current:
        sys.exit(f"round {number}: {found['current']} of {[v['label'] for v in found['versions']]}, "
                 f"expected {current} of {list(model)}")
    if number % 6 == 5:
        done = run("datasetfsctl", "verify", "rounds")
        if done.returncode:
            sys.exit(f"round {number}: {done.stdout}{done.stderr}")
END

# The name of a volume, which may come from somebody else's mount, does not write to the terminal.
cp volume $'new\nline'
assert_contains "list" "$(datasetfsctl list $'new\nline' | head -n 1)" 'new\x0aline'
cp volume $'a\xc2\x9b2J\x9bé'
assert_contains "list" "$(datasetfsctl list $'a\xc2\x9b2J\x9bé' | head -n 1)" 'a\xc2\x9b2J\x9bé'
assert_fails 1 'b\xc2\x9b2J\x9bé' datasetfsctl current $'b\xc2\x9b2J\x9bé' one

# By a mount the mounted volume is changed, not what its path leads to by now.
need_fuse
mount_volume volume mnt
datasetfsctl current mnt one >/dev/null || fail "current by a mount"
assert_eq "current by a mount" "$(current)" one
mkdir other
echo other >other/file
pack new other --label one
pack new other --label two
mv volume mounted
mv new volume
before=$(hash_of volume)
assert_fails 1 "volume' is not the volume that is mounted" datasetfsctl current mnt one
assert_fails 1 "volume' is not the volume that is mounted" datasetfsctl remove mnt one
assert_fails 1 "volume' is not the volume that is mounted" datasetfsctl compact mnt
assert_eq "the volume that came to the path" "$(hash_of volume)" "$before"
mv mounted volume
if can_mount; then
    before=$(hash_of volume)
    mkdir empty
    mount --bind empty mnt/.datasetfs
    at_exit umount mnt/.datasetfs
    assert_fails 1 "mnt' does not identify its volume, name the volume itself" datasetfsctl current mnt four
    assert_eq "the volume of a mount that does not answer" "$(hash_of volume)" "$before"
    umount mnt/.datasetfs
fi
unmount mnt
