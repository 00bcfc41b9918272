#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=400
# datasetfsctl compact with its Nth allocation, read, write or flush failing: one clear line and exit 1, and the
# volume is what it was, or the line says that it may not be; or, where the failure did not matter, a volume that
# verifies.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir tree
for i in $(seq 0 120); do head -c $((i * 200)) /dev/urandom >"tree/f$i"; done
head -c 2M /dev/urandom >tree/large
pack base.vol tree --label one --segment-size 1M --trust-mtime --order random # so that there are tables of places
for i in $(seq 0 100); do head -c $((i * 200)) /dev/urandom >"tree/f$i"; done
pack base.vol tree --label two --trust-mtime
head -c 2M /dev/urandom >tree/large
pack base.vol tree --label three --compress zstd
datasetfsctl remove base.vol one >/dev/null 2>&1

. "$LIB/faults.sh"
faults_of '^datasetfsctl: cannot compact .' "segments emptied" datasetfsctl compact --below 90 work.vol
for signal in HUP INT QUIT TERM; do # when everything is copied
    signalled $signal "datasetfsctl: cannot compact 'work.vol': interrupted"
done

survivable write # one fails for want of room, and compact may succeed with less to move
every flush 3
every write 3
every read 3
every alloc 3
