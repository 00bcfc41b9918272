#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=400
# The packer with its Nth allocation, read, write or flush failing: one clear line and exit 1, and the volume is what
# it was; or, where the failure did not matter, a volume that verifies.
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
faults_of '^mkdatasetfs: .' "version 'two'" mkdatasetfs --progress none --compress zstd -j2 --label two work.vol tree
every flush 1
every write 1
every write 7 FAULT_OTHER=1
every read 1
every read 7 FAULT_OTHER=1
every alloc 5
[ -z "$(find . -maxdepth 1 -name '*mkdatasetfs*')" ] || fail "temporary files are left: $(ls -d ./*mkdatasetfs*)"
