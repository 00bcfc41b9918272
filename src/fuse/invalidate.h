/* SPDX-License-Identifier: MIT */
/* Tells the kernel what to forget. A notification is written to the mount's /dev/fuse and has taken effect when the
 * call returns. Never call these from a thread that answers requests: the kernel may be waiting for one. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Makes the kernel look up every cached name and absence again before it uses it: FUSE_NOTIFY_INC_EPOCH, protocol 7.44
 * (Linux 6.16). -EINVAL: the kernel does not know it. Attributes and contents stay. */
must_check int invalidate_epoch(int fd, struct error *err);
/* Drops attributes, cached contents and listings of a node. Returns 0 also if the kernel does not know the node. */
must_check int invalidate_inode(int fd, uint64_t nodeid, struct error *err);
/* Drops a name in a directory, or its cached absence, with everything below. Waits for lookups and listings of this
 * directory in flight. Returns 0 also if the kernel does not know the name. */
must_check int invalidate_entry(int fd, uint64_t directory, const char *name, size_t length, struct error *err);
/* Drops the given nodes, except those in use: by a name, an open descriptor, or something cached below. Takes no lock
 * of a directory. FUSE_NOTIFY_PRUNE, protocol 7.45 (Linux 6.18). -EINVAL: the kernel does not know it. */
#define INVALIDATE_PRUNE_MOST 512u
must_check int invalidate_prune(int fd, const uint64_t *nodes, uint32_t count, struct error *err);
