/* SPDX-License-Identifier: MIT */
/* Which files go into one read ahead: small ones together, as many as one device read can bring. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "image/chunk.h"
#include "read/op.h"

#define GATHER_GAP   (64u << 10) /* unwanted bytes that are read over rather than skipped */

#define GATHER_FILES 512u /* that are sorted together */

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
/* Adds all chunks of the file. False: it does not fit beside the others, or its records are damaged; none was added. */
bool gather_add(struct gather *gather, const struct inode *inode);
