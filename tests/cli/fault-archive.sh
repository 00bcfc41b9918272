#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=400
# An archive is packed with the Nth allocation, read, write or flush failing, in the packer or in the process that
# decodes: one clear line and exit 1, and the volume is what it was; or a volume that verifies.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir -p tree/a/b inner
for i in $(seq 0 20); do head -c $((i * 700)) /dev/urandom >"tree/a/f$i"; done
head -c 1500000 /dev/urandom >tree/a/b/large
cp tree/a/b/large tree/a/same
ln -s a tree/link
ln tree/a/f3 tree/hard
tar -C tree -czf inner/in.tgz .
tar -cf outer.tar -C inner .
pack base.vol tree --label one
tar --format=pax -rf outer.tar tree/a/f7

. "$LIB/faults.sh"
faults_of '^mkdatasetfs: .' "version 'two'" mkdatasetfs --progress none --nested -j2 --label two work.vol outer.tar
every flush 1
every write 3
every read 1
every alloc 5
