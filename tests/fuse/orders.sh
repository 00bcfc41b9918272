#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon channels timeout=400
# Publish, switch, remove, current and compact in a random order against a model, while threads read through a mount: each
# file is wholly of a version that was published, and EIO only comes while the mount's version is no longer on the volume.
# SEED=N repeats a run.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

rounds=60
[ "$DATASETFS_FULL" = 0 ] || rounds=250
mkdir source
for i in $(seq 0 40); do head -c $((RANDOM * (i % 7))) /dev/urandom >"source/f$i"; done
pack volume source --label r0 --segment-size 1M
mount_volume volume mnt -o version=r0
python3 "$DATASETFS_SOURCE/tests/fuse/orders.py" ${SEED:-$RANDOM} $rounds || fail "see above"
unmount mnt
datasetfsctl verify volume >/dev/null || fail "verify in the end"
