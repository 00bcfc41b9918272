#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon channels in=tsan,gcc:ring timeout=400
# Publish, switch, remove, current and compact in a random order against a model, while threads read through a mount:
# each file is wholly of a version that was published, and EIO only comes while the mount's version is no longer on the
# volume. SEED=N repeats a run.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

mkdir source
for i in $(seq 0 40); do head -c $((RANDOM * (i % 7))) /dev/urandom >"source/f$i"; done
pack volume source --label r0 --segment-size 1M
mount_volume volume mnt -o version=r0
python3 "$DATASETFS_SOURCE/tests/fuse/orders.py" ${SEED:-$RANDOM} "$(length 20 60)" || fail "see above"
unmount mnt
datasetfsctl verify volume >/dev/null || fail "verify in the end"
