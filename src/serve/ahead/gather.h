/* SPDX-License-Identifier: MIT */
/* Chooses the files of one read ahead: small files together, as many as one device read of each member can bring. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "image/chunk.h"
#include "read/op.h"

#define GATHER_GAP   (64u << 10) /* largest gap in bytes that is read rather than skipped */

#define GATHER_FILES 512u /* limit of files that are sorted together */
#define GATHER_NEAR  256u /* next ordinals that are searched for files among them; more would hold more batches */

/* The files of the next GATHER_NEAR ordinals that were gathered early: bit ordinal % GATHER_NEAR. */
struct gather_taken {
	uint64_t bits[GATHER_NEAR / 64];
};

/* The chunks of a read, file by file. */
struct gather {
	const struct index *index;
	struct chunk chunks[READ_PIECES];
	uint32_t count;
	uint64_t content, stored; /* bytes of content; bytes on the volume, gaps included */
	uint64_t end;             /* address behind the last chunk */
};

/* Begins a read with no chunks. */
void gather_begin(struct gather *gather, const struct index *index);
/* Whether a file is worth reading ahead: a regular file, not empty, and no larger than one READ. */
bool gather_is_wanted(const struct inode *inode);
/* Sorts files by their place on the volume. That is nearly the order of ordinals, but small files fill what others left
 * of a block: a third lie before their predecessor, and would cut the read. */
void gather_sort(const struct index *index, uint64_t *ordinals, uint32_t count);
/* Adds files that lie among the given ones on the volume but have later ordinals, so that no later read has to come
 * back for them. Looks at ordinals at or after `from` and before `end`, GATHER_NEAR at most, skips those in `taken` and
 * marks the added ones there. `ordinals` has room for GATHER_FILES. Returns how many files there are then. */
uint32_t gather_among(const struct index *index, uint64_t *ordinals, uint32_t count, uint64_t from, uint64_t end,
		      struct gather_taken *taken);
/* Whether the file was gathered early. Clears its bit, which the file GATHER_NEAR ordinals further on uses next. */
bool gather_was_taken(struct gather_taken *taken, uint64_t ordinal);
/* Adds all chunks of a file. False: it does not fit beside the others, or its records are damaged; none was added. */
bool gather_add(struct gather *gather, const struct inode *inode);
