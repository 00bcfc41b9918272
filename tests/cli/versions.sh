#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke in=asan
# Several versions on one volume: labels, the current one, each with its own content and digest.
. "$(dirname "$0")/../lib/common.sh"

mkdir source
# versions FIELD: of all versions, on one line
versions() {
    datasetfsctl list --json volume | python3 -c 'import json, sys
print(*[version[sys.argv[1]] for version in json.load(sys.stdin)["versions"]])' "$1"
}

# list PATH
list() {
    datasetfsctl list --json volume | json "$1"
}
for i in 1 2 3 4; do
    echo "content $i" >source/file
    echo "only in $i" >source/only$i
    options=()
    [ $i != 3 ] || options=(--label third --no-current)
    pack volume source ${options[@]+"${options[@]}"}
    declare "digest$i=$(list "versions.$((i - 1)).digest")"
done
assert_eq "labels" "$(versions label)" \
    "v1 v2 third v4"
assert_eq "sequences" "$(versions sequence)" \
    "1 2 3 4"
assert_eq "current" "$(list current)" v4
for i in 1 2 4; do
    assert_contains "dump of v$i" "$(datasetfsctl dump --json volume v$i)" "/only$i"
done
assert_contains "dump of third" "$(datasetfsctl dump volume third)" "only3"
found=$(datasetfsctl dump volume v2 | sha256sum | cut -d ' ' -f 1)
assert_eq "digest of v2" "${digest2:?}" "sha256:$found"
[ "${digest1:?}" != "$digest2" ] || fail "two versions with one digest"
datasetfsctl verify volume third v1 >verify.txt || fail "verify of two versions"
assert_contains "verify" "$(cat verify.txt)" "third"
! grep -q "v2" verify.txt || fail "verify looked at v2 as well"

assert_fails 1 "'third'" mkdatasetfs --progress none --label third volume source
pack volume source --format --label afresh
assert_eq "versions after --format" "$(versions label)" afresh

# Many publishes continue in the tail of a segment: they do not cost one each.
for i in {1..30}; do
    echo $i >source/file
    pack volume source --label n$i
done
[ "$(stat -c %s volume)" -lt 8000000 ] || fail "31 tiny versions take $(stat -c %s volume) bytes"
datasetfsctl verify volume >/dev/null || fail "verify of 31 versions"

# Two publishers: the second is refused while the first waits for its list of files, and the first goes on.
mkfifo list
exec 9<>list
mkdatasetfs --progress none --label slow --from-list list volume source >/dev/null 2>slow.err 9>&- &
slow=$!
wait_for 20 has_open mkdatasetfs $slow list || fail "the first publisher does not read its list: $(cat slow.err)"
assert_fails 1 "another publisher is at work, try again when it has ended: process $slow (" \
    mkdatasetfs --progress none --label quick volume source
echo file >&9
exec 9>&-
wait $slow || fail "the first publisher: $(cat slow.err)"
assert_eq "the last version" "$(list versions.31.label)" slow
datasetfsctl verify volume >/dev/null || fail "verify after two publishers"
