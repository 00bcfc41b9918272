#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=tsan queue=stuck timeout=1800
# A member of a mirrored volume hangs or becomes slow under readers of the thread pool: nobody notices.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
. "$LIB/members_stuck.sh"

mount_on dev,io=threads
strike_all 64 hang
bears_slow
walks
ends
