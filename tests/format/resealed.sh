#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan timeout=300
# A signed volume of which somebody without the key changes any byte, with all sums made right again: whoever trusts the
# signer refuses it, or reads what was packed.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_command ssh-keygen

chmod go-w .
ssh-keygen -q -t ed25519 -N '' -C alice -f alice
echo "alice $(cut -d' ' -f1,2 alice.pub)" >signers
mkdir -p tree/a/b
for i in {1..60}; do head -c $((i * 97)) /dev/urandom >"tree/a/file $i"; done
head -c 1200000 /dev/urandom >tree/large
ln -s a/b tree/link
ln tree/large tree/second
truncate -s 300000 tree/sparse
printf end >>tree/sparse
export SOURCE_DATE_EPOCH=1700000000
step=$(length 61 5)
for sums in sha256 xxh3-64; do
    pack volume tree --format --sums $sums --sign alice
    say "$sums"
    "$DATASETFS_BUILD/tests/format/resealed" volume signers "$step" || fail "resealed"
done
