/* SPDX-License-Identifier: MIT */
/* Maps inodes to runs of stored bytes. */
#include "volume/compaction/live_extents.h"

#include <stdbool.h>
#include <sys/stat.h>

#include "base/program/interrupt.h"
#include "image/chunk.h"
#include "image/inode.h"

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
static int live_extents_file(struct live_extents *live, const struct index *index, const struct inode *inode,
			     struct error *err)
{
	uint64_t count = inode_chunk_count(index, inode), run;
	struct chunk chunk;
	int r;

	for (uint64_t i = 0; i < count; i += run) {
		r = chunk_get_run(index, inode, i, &chunk, &run, err);
		if (r < 0)
			return r;
		if (chunk_is_hole(&chunk) || chunk_is_inline(&chunk))
			continue;
		if (inode->size > DSFS_SHARED_MAX || live->address + live->length != chunk.address)
			live_extents_end(live);
		if (!live->length)
			live->address = chunk.address;
		live->length += chunk.stored;
	}
	live_extents_end(live);
	return 0;
}

int live_extents_walk(const struct index *index, void (*each)(void *argument, uint64_t address, uint64_t length),
		      void *argument, struct error *err)
{
	struct live_extents live = { .each = each, .argument = argument };
	struct inode inode;
	int r;

	for (uint64_t ordinal = INODE_ROOT; ordinal <= index->shape.inode_count; ordinal++) {
		r = interrupt_check(err);
		if (r == 0)
			r = inode_get(index, ordinal, &inode, err);
		if (r == 0 && S_ISREG(inode.mode))
			r = live_extents_file(&live, index, &inode, err);
		if (r < 0)
			return r;
	}
	return 0;
}
