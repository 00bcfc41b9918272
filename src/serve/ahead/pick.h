/* SPDX-License-Identifier: MIT */
/* Picks the files of one read ahead: small files together, as many as one device read of each member can bring. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "image/chunk.h"
#include "read/gather.h"
#include "read/op.h"

#define PICK_GAP (64u << 10) /* largest gap in bytes that is read rather than skipped */

#define PICK_FILES 512u /* limit of files that are sorted together */
#define PICK_NEAR  256u /* next ordinals that are searched for files among them; more would hold more batches */

/* The files of the next PICK_NEAR ordinals that were picked early: bit ordinal % PICK_NEAR. */
struct pick_taken {
	uint64_t bits[PICK_NEAR / 64];
};

/* The chunks of a read, file by file. */
struct pick {
	const struct index *index;
	struct chunk chunks[READ_PIECES];
	struct gather gather; /* what they take; its count is theirs */
};

/* Begins a read with no chunks. */
void pick_begin(struct pick *pick, const struct index *index);
/* Whether a file is worth reading ahead: a regular file, not empty, and no larger than one READ. */
bool pick_is_wanted(const struct inode *inode);
/* Sorts files by their place on the volume. That is nearly the order of ordinals, but small files fill what others left
 * of a block: a third lie before their predecessor, and would cut the read. */
void pick_sort(const struct index *index, uint64_t *ordinals, uint32_t count);
/* Adds files that lie among the given ones on the volume but have later ordinals, so that no later read has to come
 * back for them. Looks at ordinals at or after `from` and before `end`, PICK_NEAR at most, skips those in `taken` and
 * marks the added ones there. `ordinals` has room for PICK_FILES. Returns how many files there are then. */
uint32_t pick_among(const struct index *index, uint64_t *ordinals, uint32_t count, uint64_t from, uint64_t end,
		    struct pick_taken *taken);
/* Whether the file was picked early. Clears its bit, which the file PICK_NEAR ordinals further on uses next. */
bool pick_was_taken(struct pick_taken *taken, uint64_t ordinal);
/* Adds all chunks of a file. False: it does not fit beside the others, or its records are damaged; none was added. */
bool pick_add(struct pick *pick, const struct inode *inode);
