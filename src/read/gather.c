/* SPDX-License-Identifier: MIT */
/* Counts the way split.c reads: a small gap between two chunks is read over, and a chunk that does not fit begins the
 * next read. */
#include "read/gather.h"

#include "image/chunk.h"
#include "read/op.h"

_Static_assert(READ_MAX >= 1u << DSFS_CHUNK_LOG_MAX, "a chunk must fit in a read");

static void gather_add_stored(struct gather *sum, const struct chunk *chunk)
{
	if (chunk->address >= sum->end && chunk->address - sum->end <= sum->gap)
		sum->stored += chunk->address - sum->end;
	sum->stored += chunk->stored;
	sum->end = chunk->address + chunk->stored;
}

bool gather_add(struct gather *gather, const struct chunk *chunk)
{
	struct gather sum = *gather;

	sum.count++;
	sum.content += chunk->length;
	if (!chunk_is_hole(chunk) && !chunk_is_inline(chunk))
		gather_add_stored(&sum, chunk);
	if (gather->count && (sum.count > READ_PIECES || sum.content > READ_MAX || sum.stored > READ_MAX))
		return false;
	*gather = sum;
	return true;
}
