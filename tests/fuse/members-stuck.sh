#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan queue=stuck timeout=1800
# A member of a mirrored volume hangs, fails, is cut off or becomes slow under readers, over /dev/fuse: nobody notices.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
. "$LIB/members_stuck.sh"

mount_on dev,io=uring
strike_all 64 hang eio cut
bears_slow
lists_versions
walks
ends
