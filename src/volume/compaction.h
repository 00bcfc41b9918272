/* SPDX-License-Identifier: MIT */
/* Empties segments that are mostly dead: copies what is alive in them, and gives the versions that use it new
 * records. */
#pragma once
#include "volume/transaction.h"

struct compaction_moved {
	char label[DSFS_LABEL_MAX + 1];
	uint64_t former, sequence; /* equal when a mount of it is not concerned */
};

struct compaction {
	uint64_t segments;    /* emptied, or that would be */
	uint64_t moved_bytes; /* copied, or that would be */
	uint64_t index_bytes; /* of indexes written anew, likewise */
	uint64_t dead_bytes;  /* that no version used, in these segments */
	uint64_t freed_bytes; /* gained; of a dry run: dead bytes */
	struct compaction_moved *versions; /* that lie elsewhere now */
	uint32_t version_count;
};

#define COMPACTION_BELOW 50u /* percent, when nobody says otherwise */

struct compaction_wish {
	unsigned below; /* empty segments of which less than this percentage is alive */
	bool dry_run;   /* write nothing */
	/* Before anything is written, with the versions that lie elsewhere then; again when there was too little room.
	 * Nothing happens when it fails. NULL: nobody is asked. */
	int (*consent)(void *argument, const struct compaction *foreseen, struct error *err);
	void *argument;
};

/* The change is in force when it returns 0. The caller frees ret->versions. */
must_check int compaction_run(struct transaction *transaction, const struct compaction_wish *wish,
			      struct compaction *ret, struct error *err);
/* Dead bytes in the segments that such a run would empty if it had room enough. Reads the index of every version. */
must_check int compaction_waiting(const struct transaction *transaction, unsigned below, uint64_t *ret,
				  struct error *err);
