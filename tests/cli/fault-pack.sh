#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=400
# The packer with its Nth allocation, read, write or flush failing: one clear line and exit 1, and the volume is what
# it was, or the line says that it may not be; or, where the failure did not matter, a volume that verifies. Blocks of
# an earlier version that the device cannot read do not matter, a full temporary directory does.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir -p tree/a/b
for i in $(seq 0 20); do head -c $((i * 700)) /dev/urandom >"tree/a/f$i"; done
head -c 700000 /dev/urandom >tree/a/b/large
cp tree/a/b/large tree/a/same
ln -s a tree/link
ln tree/a/f3 tree/hard
pack base.vol tree --label one
echo changed >>tree/a/f1

. "$LIB/faults.sh"
rc=0 # of injected()
faults_of '^mkdatasetfs: .' "version 'two'" mkdatasetfs --progress none --compress zstd -j2 --label two work.vol tree
every flush 1
every write 1
every write 7 FAULT_OTHER=1
every read 1
every read 7 FAULT_OTHER=1
every alloc 5
every grow 1 # the superblock slot, which is written only when it has its block

say "in random order, for which contents wait in temporary files, and with metadata"
faults_of '^mkdatasetfs: .' "version 'two'" \
    mkdatasetfs --progress none --order random -j2 --label two --meta licence=MIT --meta commit=5c1a9f0 work.vol tree
every write 7 FAULT_OTHER=1
every read 7 FAULT_OTHER=1
every write 3
every alloc 15

# unreadable FROM TO [VAR=VALUE…]: publishes while these bytes of the volume cannot be read, and the version is right
unreadable() {
    injected read 1 FAULT_TIMES=1000000 FAULT_FROM="$1" FAULT_TO="$2" "${@:3}"
    [ $rc = 0 ] || fail "unreadable from $1 to $2: exit $rc: $(cat err)"
    [ "$(cat count)" -gt 0 ] || fail "nothing from $1 to $2 was read"
    datasetfsctl verify work.vol two >verify.log 2>&1 || fail "unreadable from $1 to $2: $(cat verify.log)"
}

# stored LEAST MOST: bytes of chunks that the publish wrote
stored() {
    local bytes
    bytes=$(datasetfsctl list --json work.vol | json versions.1.stored_bytes)
    [ "$bytes" -ge "$1" ] && [ "$bytes" -lt "$2" ] || fail "$bytes bytes were stored, expected $1 to $2"
}

say "unreadable chunks"
rm -r tree base.vol
mkdir tree
head -c 3M /dev/urandom >tree/large
head -c 60000 /dev/urandom >tree/small
pack base.vol tree --label one
faults_of '^mkdatasetfs: .' "version 'two'" mkdatasetfs --progress none --label two work.vol tree
at=$(datasetfsctl stat --json base.vol large | json chunks.10.device_offset)
unreadable "$at" $((at + 131072))
assert_eq "messages" "$(cat err)" ""
stored 131072 200000
at=$(datasetfsctl stat --json base.vol small | json chunks.0.device_offset)
unreadable "$at" $((at + 4096))
assert_eq "messages" "$(cat err)" ""
stored 60000 131072

say "unreadable indexes: a medium error, and protection information that does not fit"
from=$(datasetfsctl list --json base.vol | json versions.0.index.0.offset)
to=$((from + $(datasetfsctl list --json base.vol | json versions.0.index.0.length)))
for code in 61 84; do
    unreadable "$from" "$to" FAULT_CODE=$code
    assert_contains "messages" "$(cat err)" "nothing is shared with version 'one'"
done
_program+=(--trust-mtime)
for code in 61 84; do
    unreadable "$from" "$to" FAULT_CODE=$code
    assert_contains "messages" "$(cat err)" "every file is read"
    assert_contains "messages" "$(cat err)" "nothing is shared with version 'one'"
done

say "a temporary directory without room"
rm -r tree base.vol
mkdir tree
(cd tree && touch {1..4500})
pack base.vol tree --label one
faults_of '^mkdatasetfs: .' "version 'two'" mkdatasetfs --progress none --label two work.vol tree
injected grow 0 FAULT_OTHER=1
[ $rc = 0 ] || fail "counting run: $(cat err)"
total=$(cat count)
# Hash tables of so few files are in memory: what grows are arrays, names and the section.
[ "$total" -gt 5 ] || fail "only $total times a file grew"
for ((n = 1; n <= total; n++)); do
    injected grow "$n" FAULT_OTHER=1
    assert_eq "status with no room at call $n: $(cat err)" $rc 1
    assert_contains "no room at call $n" "$(cat err)" "temporary files in"
done
[ -z "$(find . -maxdepth 1 -name '*mkdatasetfs*')" ] || fail "temporary files are left: $(ls -d ./*mkdatasetfs*)"
