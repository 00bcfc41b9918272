/* SPDX-License-Identifier: MIT */
/* Maps inodes to runs of stored bytes. */
#include "volume/compaction/live_extents.h"

#include "image/catalogue/index_load.h"
#include "image/chunk_walk.h"

struct live_extents {
	uint64_t address, length;
	live_extents_each *each;
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

int live_extents_walk(const struct index *index, live_extents_each *each, void *argument, struct error *err)
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

int live_extents_of_files(struct backing backing, const struct version *version, live_extents_each *each,
			  void *argument, struct error *err)
{
	struct index *index;
	int r = index_load(backing, version, &index, err);

	if (r < 0)
		return r;
	r = live_extents_walk(index, each, argument, err);
	index_close(index);
	return r;
}

static void live_extents_list(const struct extent_list *list, live_extents_each *each, void *argument)
{
	for (uint32_t i = 0; i < list->count; i++)
		each(argument, list->items[i].address, list->items[i].length);
}

int live_extents_of_version(struct backing backing, const struct version *version, live_extents_each *each,
			    void *argument, struct error *err)
{
	live_extents_list(&version->index.extents, each, argument);
	live_extents_list(&version->source.extents, each, argument);
	live_extents_list(&version->block_sums.extents, each, argument);
	return live_extents_of_files(backing, version, each, argument, err);
}
