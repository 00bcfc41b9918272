/* SPDX-License-Identifier: MIT */
/* Snapshots of the files of .datasetfs: a lookup makes a node whose content never changes, so that the kernel may cache
 * it, or finds the one with the same content. It is freed when the kernel forgets it. A file that never changes has one
 * snapshot for all lookups. The next server inherits them, but for texts that are too long, which it makes anew when
 * the kernel asks. Any thread may call these functions. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fuse/wire.h"

#define SNAPSHOTS_MAX      1024u /* limit for all; each holds its text in memory. It never changes, see snapshots.c */
#define SNAPSHOTS_OF_USER  256u /* limit for one user */
#define SNAPSHOTS_OF_USERS 960u /* limit for all users; the rest is for users who may switch the mount */

/* The file that a snapshot is of, which its node number tells, also to the servers of later releases: a value never
 * changes its meaning, and there are eight at most. */
enum snapshots_file {
	SNAPSHOTS_CATALOGUE, /* versions.json */
	SNAPSHOTS_STATS,
	SNAPSHOTS_VERSION,
	SNAPSHOTS_CLIENT, /* has NODE_CLIENT instead */
	SNAPSHOTS_DAMAGE,
	SNAPSHOTS_METRICS,
	SNAPSHOTS_FILES,
};

struct snapshots;
struct snapshot;

/* State that the servers of a mount share. NULL, NULL and -1: there was and will be no other one. */
struct snapshots_setup {
	_Atomic uint64_t *made;  /* how many snapshots all servers have made; stays as long as the table */
	_Atomic uint64_t *nodes; /* by slot, the number of the one that the kernel may know, 0: none; stays, too */
	int texts;               /* see texts.h; the table's, unless it could not be made */
};
/* Makes a table of the snapshots that earlier servers have left. */
must_check int snapshots_new(const struct snapshots_setup *setup, struct snapshots **ret, struct error *err);
void snapshots_free(struct snapshots *snapshots);

/* Makes a snapshot of the text, unless there is one, and counts one lookup of it. Takes the text if it returns 0.
 * -EDQUOT: the user has too many snapshots; -ENFILE: all users have; -ENOMEM. */
must_check int snapshots_keep(struct snapshots *snapshots, enum snapshots_file file, uint32_t uid, bool may_switch,
			      char *text, size_t length, struct fuse_entry_out *ret);
/* Answers a lookup of NODE_CLIENT, which has one snapshot for all lookups; the kernel may keep its name. The first call
 * makes the snapshot. Takes the text in any case. -ENOMEM. */
must_check int snapshots_keep_client(struct snapshots *snapshots, char *text, size_t length,
				     struct fuse_entry_out *ret);
/* Subtracts lookups that the kernel forgot, and frees the snapshot with the last one. NODE_CLIENT stays. */
void snapshots_forget(struct snapshots *snapshots, uint64_t nodeid, uint64_t lookups);

/* The file that a node is a snapshot of, whichever server made it. SNAPSHOTS_FILES: of none that we know. */
enum snapshots_file snapshots_file(uint64_t nodeid);
/* Makes a snapshot of an earlier server anew, with the present text, for the user who asks for it; the kernel has one
 * lookup of it. Takes the text in any case. The caller gives the result back with snapshots_put(). NULL: there is no
 * memory. *ret_kept: this call put it into the table. It does not if the node is there already, which the caller gets
 * then, or if its slot is another's or the user has too many: the snapshot is for this caller alone then. */
struct snapshot *snapshots_adopt(struct snapshots *snapshots, uint64_t nodeid, uint32_t uid, char *text,
				 size_t length, bool *ret_kept);

/* Finds a snapshot, which the caller gives back with snapshots_put(). NULL: there is none with this number. */
struct snapshot *snapshots_get(struct snapshots *snapshots, uint64_t nodeid);
void snapshots_put(struct snapshot *snapshot);
void snapshots_attr(const struct snapshot *snapshot, struct fuse_attr *ret);
/* Reads from a snapshot, and returns how many bytes. */
size_t snapshots_read(const struct snapshot *snapshot, uint64_t offset, void *buffer, size_t size);
size_t snapshots_length(const struct snapshot *snapshot);
