/* SPDX-License-Identifier: MIT */
/* Snapshots of the files of .datasetfs: each lookup makes a node of its own, whose content never changes, so that the
 * kernel may cache it. It is freed when the kernel forgets it. A file that never changes has one snapshot for all
 * lookups. Any thread may call these functions. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fuse/wire.h"

#define SNAPSHOTS_OF_USER  256u /* limit for one user */
#define SNAPSHOTS_OF_USERS 960u /* limit for all users; the rest is for users who may switch the mount */

struct snapshots;

/* Makes an empty table of snapshots. */
must_check int snapshots_new(struct snapshots **ret, struct error *err);
void snapshots_free(struct snapshots *snapshots);

/* Makes a snapshot of the text and counts one lookup of it. Takes the text if it returns 0. -EDQUOT: the user has too
 * many snapshots; -ENFILE: all users have. */
must_check int snapshots_keep(struct snapshots *snapshots, uint32_t uid, bool may_switch, char *text, size_t length,
			      struct fuse_entry_out *ret);
/* Counts a lookup of NODE_CLIENT, which has one snapshot for all lookups; the kernel may keep its name. The first call
 * makes the snapshot. Takes the text in any case. */
void snapshots_keep_client(struct snapshots *snapshots, char *text, size_t length, struct fuse_entry_out *ret);
/* The attributes of a snapshot. -ESTALE: there is no such snapshot. */
must_check int snapshots_getattr(struct snapshots *snapshots, uint64_t nodeid, struct fuse_attr *ret);
/* Reads from a snapshot. *size: bytes wanted, on return bytes read. -ESTALE, and *size 0: there is no such snapshot. */
must_check int snapshots_read(struct snapshots *snapshots, uint64_t nodeid, uint64_t offset, void *buffer,
			      size_t *size);
/* The length of a snapshot in bytes. -ESTALE: there is no such snapshot. */
must_check int snapshots_length(struct snapshots *snapshots, uint64_t nodeid, uint64_t *ret);
/* Subtracts lookups that the kernel forgot, and frees the snapshot with the last one. */
void snapshots_forget(struct snapshots *snapshots, uint64_t nodeid, uint64_t lookups);
