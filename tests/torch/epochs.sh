#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once timeout=300
# Four ranks of torch.distributed on four mounts switch to a version that is published in the middle of an epoch; with a
# mount that is dead none does.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
/usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || skip "no PyTorch: apt-get install python3-torch"

for version in one two; do
    mkdir -p $version/samples
    for ((n = 0; n < 400; n++)); do
        echo "$version $n" >$version/samples/$n
    done
done
pack volume one --label one
mkdir mnt0 mnt1 mnt2 mnt3
for rank in 0 1 2 3; do
    mount_volume volume mnt$rank
done
example=$DATASETFS_SOURCE/contrib/examples/epochs.py
/usr/bin/python3 "$example" volume two mnt0 mnt1 mnt2 mnt3 >epochs.log 2>&1 || { cat epochs.log; fail "the example"; }
cat epochs.log
for line in "epoch 0: version one" "epoch 1: version one" "epoch 2: version two" "epoch 3: version two"; do
    grep -q "^$line on every rank, 400 samples once each" epochs.log || fail "no line '$line'"
done

# The mount of rank 2 dies before the barrier: the others hear of it and stay.
pack volume one --label three
DAEMON=$(stats mnt2 pid) kill_daemon mnt2 || fail "the mount of rank 2 lives"
at_exit umount mnt2
ranks=()
for rank in 0 1 2 3; do
    /usr/bin/python3 "$DATASETFS_SOURCE/tests/torch/rank.py" $rank 4 "$PWD/meeting" mnt$rank >rank$rank.log 2>&1 &
    ranks+=($!)
done
for rank in 0 1 2 3; do
    wait "${ranks[rank]}" || { cat rank$rank.log; fail "rank $rank"; }
    label=v2
    [ $rank != 2 ] || label=None
    assert_contains "rank $rank" "$(cat rank$rank.log)" "$label rank 2: OSError: [Errno 107] "
done
for rank in 0 1 3; do
    assert_eq "version of rank $rank" "$(json label mnt$rank/.datasetfs/version)" v2
done
