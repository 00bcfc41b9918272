#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: timeout=300
# datasetfsctl compact on volumes of several members, with copies and without: groups that are mostly dead are emptied
# and free as a whole, what is alive has the wanted number of copies afterwards, versions keep label, UUID and digest,
# and every copy is right.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

identities() {
    datasetfsctl list --json a | python3 -c '
import json, sys
for v in sorted(json.load(sys.stdin)["versions"], key=lambda v: v["label"]): print(v["label"], v["uuid"], v["digest"])'
}

# mirrored LABEL: per cent, as shown
mirrored() {
    datasetfsctl list a | awk -v label="$1" '$1 == label || $2 == label' | grep -o '[0-9]*%'
}

hashes() {
    sha256sum a b c d | sha256sum
}

# write SALT SHARE: so much of the files is another one
seed=${SEED:-$RANDOM}
say "seed $seed"
write() {
    python3 "$LIB/replaced_files.py" source/many 600 "$seed" "$@"
}

# prepare PROTECTION: a volume with much that is dead, in three versions
prepare() {
    rm -rf a b c d source
    write 1 1
    head -c 5M /dev/urandom >source/large
    pack a,b,c,d source --label one --segment-size 1M --protect "$1"
    write 2 0.8
    dd if=/dev/urandom of=source/large bs=128K count=1 seek=11 conv=notrunc status=none
    pack a source --label two
    pack a source --label two-z --compress zstd --no-current
    write 3 0.3
    pack a source --label three
    datasetfsctl remove a one >/dev/null 2>&1
    identities >identities.before
}

# check: nothing but places has changed
check() {
    identities | diff identities.before - || fail "$1: identities changed"
    datasetfsctl verify a >verify.out || fail "$1: verify: $(cat verify.out)"
    assert_contains "$1: verify" "$(cat verify.out)" "clean: "
}

protections="none mirror:2"
[ "$DATASETFS_FULL" = 0 ] || protections+=" mirror:3"
for protection in $protections; do
    say "$protection"
    prepare $protection
    before=$(hashes)
    datasetfsctl compact --dry-run --json b >dry.json || fail "dry run"
    assert_eq "the volume after a dry run" "$(hashes)" "$before"
    [ "$(json segments dry.json)" -gt 2 ] || fail "only $(json segments dry.json) groups are worth emptying"
    free=$(datasetfsctl list --json a | json free_bytes)
    share=$(mirrored two)
    datasetfsctl compact --json c >compact.json 2>compact.err || fail "compact: $(cat compact.err)"
    python3 - <<'END' || fail "what compact says"
import json, sys
dry, done = json.load(open("dry.json")), json.load(open("compact.json"))
if any(dry[key] != done[key] for key in ("segments", "dead_bytes", "index_bytes", "moved_bytes", "versions")):
    sys.exit(f"{done}, announced {dry}")
END
    check "$protection"
    assert_eq "bytes that became free" "$(json freed_bytes compact.json)" \
        "$(($(datasetfsctl list --json a | json free_bytes) - free))"
    [ "$(json freed_bytes compact.json)" -gt 0 ] || fail "nothing became free"
    assert_eq "protection" "$(mirrored two)" "$share"
    datasetfsctl list --json a | python3 -c '
import json, sys
listed = json.load(sys.stdin)
label = listed["current"]
total = [0] * 4
for version in listed["versions"]:
    for segment in version["segments"]:
        total[segment["member"]] += segment["length"]
if max(total) > 1.6 * min(total):
    sys.exit(f"fail: segments of the members: {total}")' || fail "$protection: not spread"
    # Each file is one read as before.
    for file in many/f1 many/f77 many/f300 many/f599; do
        for version in two two-z three; do
            ranges=$(datasetfsctl stat --json --version $version a $file |
                python3 -c 'import json, sys; print(len(json.load(sys.stdin)["ranges"]))')
            [ "$ranges" -le 1 ] || fail "$file of $version takes $ranges reads"
        done
    done
    # It comes to an end, and nothing is written then.
    for round in 1 2 3 4; do
        before=$(hashes)
        datasetfsctl compact a >out 2>/dev/null || fail "again, round $round"
        ! grep -q "no segment is worth emptying" out || break
    done
    assert_contains "round $round" "$(cat out)" "no segment is worth emptying"
    assert_eq "the volume after nothing" "$(hashes)" "$before"
    # Segments that became free are used before the files grow.
    segments=$(datasetfsctl list --json a | json segments)
    head -c 1M /dev/urandom >source/next
    pack a source --label next
    assert_eq "segments after the next publish" "$(datasetfsctl list --json a | json segments)" "$segments"
    datasetfsctl verify a >verify.out || fail "verify: $(cat verify.out)"
done

say "as many copies as the last publish wanted"
prepare none
pack a source --label next --protect mirror:2
before=$(mirrored two)
datasetfsctl compact --below 100 a >/dev/null 2>&1 || fail "compact"
identities | grep -v next | diff identities.before - || fail "identities changed"
datasetfsctl verify a >verify.out || fail "verify: $(cat verify.out)"
[ "$(mirrored two | tr -d %)" -gt "$(echo "$before" | tr -d %)" ] || fail "mirrored: $(mirrored two), before $before"

say "a member that is missing"
for member in a c; do
    prepare mirror:2
    mkdir -p away
    mv $member away/
    assert_fails 1 "degraded" datasetfsctl compact b
    datasetfsctl compact --degraded --json b >compact.json 2>compact.err || fail "compact: $(cat compact.err)"
    [ "$(json segments compact.json)" -gt 2 ] || fail "nothing was emptied"
    datasetfsctl list --json b | python3 -c '
import json, sys
for v in sorted(json.load(sys.stdin)["versions"], key=lambda v: v["label"]):
    print(v["label"], v["uuid"], v["digest"])' |
        diff identities.before - || fail "without $member: identities changed"
    datasetfsctl verify b >verify.out || true
    assert_contains "verify without $member" "$(cat verify.out)" "it is missing"
    grep -q "damaged=[1-9]\|^damaged" verify.out && fail "without $member: $(cat verify.out)"
    mv away/$member .
    datasetfsctl verify b >verify.out || true
    grep -q "damaged=[1-9]\|^damaged" verify.out && fail "with $member, which is stale: $(cat verify.out)"
done

say "a copy that is damaged"
prepare mirror:2
before=$(hashes)
python3 - <<'END' || fail "spoil"
import json, subprocess
for i in range(0, 600, 30):
    found = subprocess.run(["datasetfsctl", "stat", "--json", "--version", "two", "a", f"many/f{i}"],
                           capture_output=True, text=True, check=True)
    for at in json.loads(found.stdout)["ranges"]:
        if "member" not in at: # in the index
            continue
        with open("abcd"[at["member"]], "r+b") as member:
            member.seek(at["device_offset"])
            byte = member.read(1)
            member.seek(at["device_offset"])
            member.write(bytes([byte[0] ^ 0x55]))
END
[ "$(hashes)" != "$before" ] || fail "nothing was spoiled"
held=$(datasetfsctl list --json a)
assert_fails 1 "are not what their copies are: 'datasetfsctl scrub --repair' mends that first" \
    datasetfsctl compact --below 100 a
assert_eq "what is in force" "$(datasetfsctl list --json a)" "$held"
datasetfsctl scrub --repair a >scrub.out 2>&1 || fail "scrub: $(cat scrub.out)"
datasetfsctl compact --below 100 a >/dev/null 2>&1 || fail "compact after repair"
check "after a repair"

say "back to the filesystem"
prepare mirror:2
blocks=$(du -B 1 -c a b c d | awk 'END { print $1 }')
datasetfsctl compact --give-back --json a >compact.json 2>compact.err || fail "compact: $(cat compact.err)"
check "give back"
given=$(json given_back_bytes compact.json)
[ "$given" -gt 0 ] || fail "nothing went back"
[ "$(du -B 1 -c a b c d | awk 'END { print $1 }')" -lt "$blocks" ] || fail "the files take as much as before"
