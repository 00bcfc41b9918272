#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon ring in=tsan timeout=1800
# A member of a mirrored volume hangs or becomes slow under readers of FUSE over io_uring: nobody notices. With --all it
# fails and is cut off as well.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
ring_switch Y || skip "FUSE over io_uring is missing or cannot be turned on"
. "$LIB/members_stuck.sh"

mount_on ring
# shellcheck disable=SC2046
strike_all 64 $(length_in_gcc hang "hang eio cut")
bears_slow
walks
ends
