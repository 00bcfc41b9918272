/* SPDX-License-Identifier: MIT */
/* Empties segments that are mostly dead, or that their member has too many of: copies the live bytes in them elsewhere,
 * and rewrites the records of the versions that use these bytes. */
#pragma once
#include "volume/transaction/transaction.h"

struct compaction_moved {
	char label[DSFS_LABEL_MAX + 1];
	uint64_t former, sequence; /* equal if mounts of the version are not affected */
};

struct compaction {
	uint64_t segments;    /* segments emptied; in a dry run, here and below: to be emptied */
	uint64_t moved_bytes; /* bytes copied */
	uint64_t index_bytes; /* bytes of indexes written anew */
	uint64_t dead_bytes;  /* bytes in these segments that no version used */
	uint64_t freed_bytes; /* bytes gained; in a dry run: the dead bytes */
	struct compaction_moved *versions; /* versions that lie elsewhere now */
	uint32_t version_count;
};

#define COMPACTION_BELOW 50u /* percent, the default */

struct compaction_args {
	unsigned below; /* empty segments that are less than this percentage live */
	bool levels;    /* instead, empty segments so that each member gets its share of the live bytes */
	bool dry_run;   /* write nothing */
	/* Called before anything is written, with the versions that will lie elsewhere; called again if a try ran out
	 * of room. An error stops the compaction before it changes anything. May be NULL. */
	int (*consent)(void *argument, const struct compaction *foreseen, struct error *err);
	void *argument;
};

/* Compacts the volume. The change is in force when this returns 0. The caller frees ret->versions. */
must_check int compaction_run(struct transaction *transaction, const struct compaction_args *args,
			      struct compaction *ret, struct error *err);
/* Returns the dead bytes in the segments that a run with this threshold would empty if it had enough room. Reads the
 * index of every version. */
must_check int compaction_waiting(const struct transaction *transaction, unsigned below, uint64_t *ret,
				  struct error *err);
