#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: timeout=240
# The same source onto a fresh volume of several members with a given UUID gives the same bytes on each, for any number
# of threads; the digest is the same for any number of members and any protection; members count in any order.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

tree random source --seed 8 --files 400
head -c 9M /dev/urandom >source/large
seq 200000 >source/text
jobs_tried="1 8"
[ "$DATASETFS_FULL" = 0 ] || jobs_tried="1 2 8"
uuid=01234567-89ab-cdef-0123-456789abcdef
export SOURCE_DATE_EPOCH=1700000000

digest() {
    datasetfsctl list --json "$1" | json versions.0.digest
}

hashes() {
    sha256sum a b c d
}

pack one source
expected=$(digest one)
for protection in none mirror:2 mirror:3; do
    for mode in none zstd:3; do
        hashes=
        for jobs in $jobs_tried; do
            rm -f a b c d
            pack a,b,c,d source --uuid $uuid --segment-size 1M --protect $protection --compress $mode -j$jobs
            [ -n "$hashes" ] || hashes=$(hashes)
            assert_eq "$protection, $mode with -j$jobs" "$(hashes)" "$hashes"
            assert_eq "digest of $protection, $mode" "$(digest a)" "$expected"
        done
        [ $mode = none ] || break
        # A second publish goes on from the first one alike.
        mkdir -p more && cp -r source/text more/
        head -c 3M /dev/zero | tr '\0' x >more/other
        rm -rf kept && mkdir kept && cp a b c d kept/
        hashes=
        for jobs in $jobs_tried; do
            cp kept/* .
            mkdatasetfs --progress none --label next -j$jobs a more >/dev/null 2>&1 || fail "the second publish"
            datasetfsctl list --json a | python3 -c '
import json, sys
for version in json.load(sys.stdin)["versions"]:
    print(version["label"], version["digest"], version["segments"])' >listed
            [ -n "$hashes" ] || hashes=$(cat listed)
            assert_eq "the second publish with -j$jobs" "$(cat listed)" "$hashes"
        done
    done
done
say "the same bytes"

names=(a b c d e)
for count in 2 3 5; do
    for protection in none mirror:2 mirror:3; do
        [ $protection != mirror:3 ] || [ $count -gt 2 ] || continue
        rm -f a b c d e
        members=$(IFS=,; echo "${names[*]:0:count}")
        pack "$members" source --protect $protection
        assert_eq "digest on $count members, $protection" "$(digest a)" "$expected"
    done
done
say "one digest"

rm -f a b c d e
pack a,b,c,d source --protect mirror:2 --segment-size 1M
python3 - "$expected" <<'END' || fail "orders"
import itertools, json, subprocess, sys
count = 0
for order in itertools.permutations("abcd"):
    found = subprocess.run(["datasetfsctl", "list", "--json", ",".join(order)], capture_output=True, text=True)
    listed = json.loads(found.stdout) if found.returncode == 0 else None
    if not listed or listed["versions"][0]["digest"] != sys.argv[1]:
        sys.exit(f"{order}: {found.stderr}")
    if [member["name"][-1] for member in listed["member_list"]] != list("abcd"):
        sys.exit(f"{order}: {listed['member_list']}")
    count += 1
print(count, "orders")
END
datasetfsctl verify d,b,a,c >/dev/null || fail "verify"
