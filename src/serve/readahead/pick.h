/* SPDX-License-Identifier: MIT */
/* Picks the files that are read ahead together, and puts them in order. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "read/run.h"

#define PICK_GAP (64u << 10) /* largest gap in bytes that is read rather than skipped */

#define PICK_FILES 512u /* limit of files that are sorted together */
#define PICK_NEAR  256u /* how many ordinals ahead pick_among() looks; more would keep more batches in memory */

/* The files picked early among the next PICK_NEAR ordinals: bit ordinal % PICK_NEAR is set for each. */
struct pick_taken {
	uint64_t bits[PICK_NEAR / 64];
};

/* Whether a file is worth reading ahead: a regular file, not empty, and no larger than one READ. */
bool pick_is_wanted(const struct inode *inode);
/* Where a file lies that is worth it; zeroed: it is not. */
struct run_place pick_where(const struct index *index, const struct inode *inode);
/* Sorts files by their place on the volume. That is nearly the order of ordinals, but small files fill the space that
 * others left in a block: about a third lie before their predecessor, and would split the read. */
void pick_sort(const struct index *index, uint64_t *ordinals, uint32_t count);
/* Adds files that lie among the given ones on the volume but have later ordinals, so that no later read has to come
 * back for them. Looks at ordinals at or after `from` and before `end`, PICK_NEAR at most, skips those in `taken` and
 * marks the added ones there. `ordinals` has room for PICK_FILES. Returns the new number of files. */
uint32_t pick_among(const struct index *index, uint64_t *ordinals, uint32_t count, uint64_t from, uint64_t end,
		    struct pick_taken *taken);
/* Whether the file was picked early. Clears its bit, which the file PICK_NEAR ordinals further on uses next. */
bool pick_was_taken(struct pick_taken *taken, uint64_t ordinal);
