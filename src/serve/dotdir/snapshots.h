/* SPDX-License-Identifier: MIT */
/* Snapshots of the files of .datasetfs: each lookup makes a node of its own whose content never changes (the kernel
 * caches it), freed when the kernel forgets it. A file that itself never changes has one for all. Any thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fuse/wire.h"

#define SNAPSHOTS_OF_USER  256u /* one user's */
#define SNAPSHOTS_OF_USERS 960u /* all users'; the rest is for those who may switch the mount */

struct snapshots;

must_check int snapshots_new(struct snapshots **ret, struct error *err);
void snapshots_free(struct snapshots *snapshots);

/* Takes the text, if it returns 0, and counts a lookup. -EDQUOT and -ENFILE when too many snapshots are held open. */
must_check int snapshots_keep(struct snapshots *snapshots, uint32_t uid, bool may_switch, char *text, size_t length,
			      struct fuse_entry_out *ret);
/* The one of NODE_CLIENT, whose name the kernel may keep as well. Takes the text. */
void snapshots_keep_client(struct snapshots *snapshots, char *text, size_t length, struct fuse_entry_out *ret);
/* These three: -ESTALE when there is none. */
must_check int snapshots_getattr(struct snapshots *snapshots, uint64_t nodeid, struct fuse_attr *ret);
/* *size: what is asked for, then what was read; also of one that is not there. */
must_check int snapshots_read(struct snapshots *snapshots, uint64_t nodeid, uint64_t offset, void *buffer,
			      size_t *size);
must_check int snapshots_length(struct snapshots *snapshots, uint64_t nodeid, uint64_t *ret);
void snapshots_forget(struct snapshots *snapshots, uint64_t nodeid, uint64_t lookups);
