#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=tsan queue=stuck timeout=1800
# A member of a mirrored volume hangs or becomes slow under readers of the thread pool: nobody notices. There are fewer
# readers, as a thread that hangs does nothing else.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
. "$LIB/members_stuck.sh"

mount_on dev,io=threads
strike_all 24 hang
bears_slow
walks
ends
