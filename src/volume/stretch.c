/* SPDX-License-Identifier: MIT */
/* From inodes to runs of bytes. */
#include "volume/stretch.h"

#include <stdbool.h>
#include <sys/stat.h>

#include "base/interrupt.h"
#include "image/address.h"
#include "image/chunk.h"
#include "image/inode.h"

struct stretch {
	uint64_t offset, length;
	void (*each)(void *argument, uint64_t offset, uint64_t length);
	void *argument;
};

static void stretch_end(struct stretch *stretch)
{
	if (stretch->length)
		stretch->each(stretch->argument, stretch->offset, stretch->length);
	stretch->length = 0;
}

/* Files of up to DSFS_SHARED_MAX bytes are shared whole, so they stay whole. */
static int stretch_file(struct stretch *stretch, const struct index *index, const struct inode *inode,
			struct error *err)
{
	uint64_t count = inode_chunk_count(index, inode), offset, run;
	struct chunk chunk;
	int r;

	for (uint64_t i = 0; i < count; i += run) {
		r = chunk_get_run(index, inode, i, &chunk, &run, err);
		if (r < 0)
			return r;
		if (chunk_is_hole(&chunk) || chunk_is_inline(&chunk))
			continue;
		offset = address_offset(chunk.address);
		if (inode->size > DSFS_SHARED_MAX || stretch->offset + stretch->length != offset)
			stretch_end(stretch);
		if (!stretch->length)
			stretch->offset = offset;
		stretch->length += chunk.stored;
	}
	stretch_end(stretch);
	return 0;
}

int stretch_walk(const struct index *index, void (*each)(void *argument, uint64_t offset, uint64_t length),
		 void *argument, struct error *err)
{
	struct stretch stretch = { .each = each, .argument = argument };
	struct inode inode;
	int r;

	for (uint64_t ordinal = INODE_ROOT; ordinal <= index->shape.inode_count; ordinal++) {
		r = interrupt_check(err);
		if (r == 0)
			r = inode_get(index, ordinal, &inode, err);
		if (r == 0 && S_ISREG(inode.mode))
			r = stretch_file(&stretch, index, &inode, err);
		if (r < 0)
			return r;
	}
	return 0;
}
