/* SPDX-License-Identifier: MIT */
/* Maps inodes to runs of stored bytes. */
#include "volume/compaction/live_extents.h"

#include "image/chunk_walk.h"

struct live_extents {
	uint64_t address, length;
	void (*each)(void *argument, uint64_t address, uint64_t length);
	void *argument;
};

static void live_extents_end(struct live_extents *live)
{
	if (live->length)
		live->each(live->argument, live->address, live->length);
	live->length = 0;
}

/* Joins adjacent chunks of files of up to DSFS_SHARED_MAX bytes, which are shared whole, so that they stay whole. */
static void live_extents_add(struct live_extents *live, const struct chunk_walk *walk)
{
	const struct chunk *chunk = &walk->chunk;

	if (!walk->position)
		live_extents_end(live);
	if (chunk_is_hole(chunk) || chunk_is_inline(chunk))
		return;
	if (walk->inode.size > DSFS_SHARED_MAX || live->address + live->length != chunk->address)
		live_extents_end(live);
	if (!live->length)
		live->address = chunk->address;
	live->length += chunk->stored;
}

int live_extents_walk(const struct index *index, void (*each)(void *argument, uint64_t address, uint64_t length),
		      void *argument, struct error *err)
{
	struct live_extents live = { .each = each, .argument = argument };
	struct chunk_walk walk = { .index = index };
	int r;

	while ((r = chunk_walk_next(&walk, err)) > 0) {
		if (walk.damage.code)
			return error_pass(err, walk.damage.code, &walk.damage);
		live_extents_add(&live, &walk);
	}
	live_extents_end(&live);
	return r;
}
