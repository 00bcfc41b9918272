/* SPDX-License-Identifier: MIT */
/* Which files go into one read ahead: small ones together, as many as one device read of each member can bring. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "image/chunk.h"
#include "read/op.h"

#define GATHER_GAP   (64u << 10) /* unwanted bytes that are read over rather than skipped */

#define GATHER_FILES 512u /* that are sorted together */
#define GATHER_NEAR  256u /* ordinals behind them, of which some lie among them; more of them hold more batches */

/* Files of the next GATHER_NEAR ordinals that are gathered already: bit ordinal % GATHER_NEAR. */
struct gather_taken {
	uint64_t bits[GATHER_NEAR / 64];
};

/* The chunks of a read, file by file. */
struct gather {
	const struct index *index;
	struct chunk chunks[READ_PIECES];
	uint32_t count;
	uint64_t content, stored; /* bytes, stored with the gaps */
	uint64_t end;             /* address behind the last chunk */
};

void gather_begin(struct gather *gather, const struct index *index);
/* Whether one READ could bring all of it, and has something to bring. */
bool gather_is_wanted(const struct inode *inode);
/* Puts files into the order in which they lie on the volume. That is nearly the order of ordinals, but small files lie
 * in what others left of a block: a third lies before its predecessor, and would cut the read. */
void gather_sort(const struct index *index, uint64_t *ordinals, uint32_t count);
/* Small files lie in what others left of a block, so behind a file come some that lie before it: a read that passes
 * over them now need not come back. Adds those with ordinals from one on, GATHER_NEAR at most and before end, that lie
 * among the files; ordinals has room for GATHER_FILES. They are taken. Returns how many files there are then. */
uint32_t gather_among(const struct index *index, uint64_t *ordinals, uint32_t count, uint64_t from, uint64_t end,
		      struct gather_taken *taken);
/* Whether it was, and it is no more: GATHER_NEAR ordinals further on comes another one. */
bool gather_was_taken(struct gather_taken *taken, uint64_t ordinal);
/* Adds all chunks of the file. False: it does not fit beside the others, or its records are damaged; none was added. */
bool gather_add(struct gather *gather, const struct inode *inode);
