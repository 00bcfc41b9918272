/* SPDX-License-Identifier: MIT */
/* Notifications: what the kernel must forget. They are written to the mount's /dev/fuse and have taken effect when
 * the call returns. Never call them from a thread that answers requests: the kernel may be waiting for one. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Every name and every absence that the kernel knows is asked for again before it is used: FUSE_NOTIFY_INC_EPOCH,
 * protocol 7.44 (Linux 6.16). -EINVAL: the kernel does not know it. Attributes and contents stay. */
must_check int invalidate_epoch(int fd, struct error *err);
/* Attributes, cached contents and listings of a node. 0 too when the kernel does not know the node. */
must_check int invalidate_inode(int fd, uint64_t nodeid, struct error *err);
/* A name, or its absence, in a directory, with all below it. Waits for lookups and listings of this directory that
 * are under way. 0 too when the kernel does not know the name. */
must_check int invalidate_entry(int fd, uint64_t directory, const char *name, size_t length, struct error *err);
/* Nodes, as far as nobody uses them: by a name, a descriptor, or something below. Takes no lock of a directory.
 * FUSE_NOTIFY_PRUNE, protocol 7.45 (Linux 6.18). -EINVAL: the kernel does not know it. */
#define INVALIDATE_PRUNE_MOST 512u
must_check int invalidate_prune(int fd, const uint64_t *nodes, uint32_t count, struct error *err);
