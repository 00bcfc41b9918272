#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=600
# datasetfsctl compact of three members with the Nth allocation, read, write or flush on any of them failing: one clear
# line and exit 1, and the volume is what it was, or the line says that it may not be; or, where the failure did not
# matter, a volume that verifies.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/faults.sh"

of_members a b c
mkdir tree
for protection in none mirror:2; do
    say "protection $protection"
    rm -f base.vol.*
    for i in $(seq 0 60); do head -c $((i * 400)) /dev/urandom >"tree/f$i"; done
    head -c 2M /dev/urandom >tree/large
    pack "$(named base.vol)" tree --label one --segment-size 1M --protect $protection
    for i in $(seq 0 50); do head -c $((i * 400)) /dev/urandom >"tree/f$i"; done
    pack "$(named base.vol)" tree --label two
    head -c 2M /dev/urandom >tree/large
    pack "$(named base.vol)" tree --label three --compress zstd
    datasetfsctl remove "$(named base.vol)" one >/dev/null 2>&1
    faults_of '^datasetfsctl: cannot compact .' "segments emptied" \
        datasetfsctl compact --below 90 "$(named work.vol)"
    survivable write # one fails for want of room, and compact may succeed with less to move
    every flush 3
    every write 6
    survivable read # another copy is read
    every read 12
    every alloc 24
    signalled TERM "datasetfsctl: cannot compact '$(named work.vol)': interrupted"
done
