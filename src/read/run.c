/* SPDX-License-Identifier: MIT */
/* Counts the way split.c reads: a small gap between two chunks is read over, and a chunk that does not fit begins the
 * next read. */
#include "read/run.h"

#include "image/members/address.h"
#include "read/op.h"

_Static_assert(READ_MAX >= 1u << DSFS_CHUNK_LOG_MAX, "a chunk must fit in a read");

static bool run_is_on_a_device(const struct chunk *chunk)
{
	return !chunk_is_hole(chunk) && !chunk_is_inline(chunk);
}

static void run_add_stored(struct run *sum, const struct chunk *chunk)
{
	if (chunk->address >= sum->end && chunk->address - sum->end <= sum->gap)
		sum->stored += chunk->address - sum->end;
	sum->stored += chunk->stored;
	sum->end = chunk->address + chunk->stored;
}

/* Adds a chunk, wherever it lies. */
static bool run_put(struct run *run, const struct chunk *chunk)
{
	struct run sum = *run;

	sum.count++;
	sum.content += chunk->length;
	if (run_is_on_a_device(chunk))
		run_add_stored(&sum, chunk);
	if (run->count && (sum.count > READ_PIECES || sum.content > READ_MAX || sum.stored > READ_MAX))
		return false;
	if (run->chunks)
		run->chunks[run->count] = *chunk;
	*run = sum;
	return true;
}

static bool run_turns(const struct run *run, const struct chunk *chunk)
{
	return run->stored >= READ_MAX / 2 && run_is_on_a_device(chunk) &&
	       address_member(chunk->address) != address_member(run->end);
}

bool run_add(struct run *run, const struct chunk *chunk)
{
	return !run_turns(run, chunk) && run_put(run, chunk);
}

bool run_add_file(struct run *run, const struct inode *inode)
{
	uint64_t count = inode_chunk_count(run->index, inode);
	struct run before = *run;
	bool fits = count <= READ_PIECES - before.count;
	struct chunk chunk;

	for (uint64_t i = 0; i < count && fits; i++)
		fits = chunk_get(run->index, inode, i, &chunk, NULL) == 0 &&
		       (i ? run_put(run, &chunk) : run_add(run, &chunk));
	if (!fits)
		*run = before;
	return fits;
}

struct run_place run_find(const struct index *index, const struct inode *inode)
{
	uint64_t count = inode_chunk_count(index, inode);
	struct run_place place = { 0 };
	struct chunk chunk;

	for (uint64_t i = 0; i < count && chunk_get(index, inode, i, &chunk, NULL) == 0; i++) {
		if (chunk_is_hole(&chunk))
			continue;
		if (chunk_is_inline(&chunk) || (place.count && chunk.address != place.address + place.stored))
			break;
		if (!place.count++)
			place.address = chunk.address;
		place.stored += chunk.stored;
	}
	return place;
}

bool run_has(const struct index *index, uint64_t ordinal, const struct chunk *chunk)
{
	struct inode inode;
	struct chunk own;
	uint64_t count = inode_get(index, ordinal, &inode, NULL) < 0 ? 0 : inode_chunk_count(index, &inode);

	for (uint64_t i = 0; i < count; i++)
		if (chunk_get(index, &inode, i, &own, NULL) == 0 && own.address == chunk->address)
			return true;
	return false;
}
