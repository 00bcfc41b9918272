#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=300
# datasetfsctl export erofs with its Nth allocation or read of the volume failing: one clear line, exit 1 and no file;
# or, where the failure did not matter, the same bytes as ever. So do reads by threads where io_uring is refused.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/faults.sh"

mkdir tree
for i in {0..40}; do head -c $((i * 300)) /dev/urandom >"tree/f$i"; done
head -c 3M /dev/urandom >tree/large
cat tree/large tree/f40 tree/large >tree/larger
pack v.vol tree --label v1
datasetfsctl export erofs v.vol v1 expected >/dev/null

fresh() {
    rm -f image
}

complete() {
    cmp image expected
}

remains() {
    assert_eq "files after $1" "$(ls -d image* 2>/dev/null)" ""
}

each 1 "^datasetfsctl: cannot export .v1. of .v.vol.: ." datasetfsctl export erofs --json v.vol v1 image

c_program lib/without_io_uring
rc=0
./without_io_uring true || rc=$?
[ $rc = 77 ] && exit 0
offset=$(datasetfsctl stat --json v.vol f39 | python3 "$LIB/chunks.py" | cut -d' ' -f4)
# last_block TIMES: so many reads of the last block of f39 fail
last_block() {
    rm -f image
    FAULT_KIND=read FAULT_AT=1 FAULT_TIMES=$1 FAULT_COUNT=$PWD/count FAULT_VOLUME=$PWD/v.vol \
        FAULT_FROM=$((offset + 8192)) FAULT_TO=$((offset + 8193)) LD_PRELOAD=$PWD/fault.so \
        ./without_io_uring datasetfsctl export erofs v.vol v1 image >/dev/null
}
last_block 0
cmp image expected || fail "other bytes without io_uring"
assert_eq "reads of a last block" "$(cat count)" 1
last_block 1
cmp image expected || fail "other bytes after a second read"
assert_eq "reads of a last block of which one failed" "$(cat count)" 2
assert_fails 1 "cannot export 'v1' of 'v.vol': '/f39': " last_block 9
