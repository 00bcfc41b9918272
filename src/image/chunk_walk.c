/* SPDX-License-Identifier: MIT */
/* Looks at one inode after the other, and at one chunk of it after the other. */
#include "image/chunk_walk.h"

#include <sys/stat.h>

#include "base/program/interrupt.h"

/* Goes on to the next inode, which may have no chunks. 0: there is none. */
static int chunk_walk_inode(struct chunk_walk *walk, struct error *err)
{
	int r;

	if (walk->inode.ordinal >= walk->index->shape.inode_count)
		return 0;
	r = interrupt_check(err);
	if (r == 0)
		r = inode_get(walk->index, walk->inode.ordinal + 1, &walk->inode, err);
	if (r < 0)
		return r;
	if (walk->each)
		walk->each(walk->argument, &walk->inode);
	walk->count = S_ISREG(walk->inode.mode) ? inode_chunk_count(walk->index, &walk->inode) : 0;
	walk->position = 0;
	return 1;
}

int chunk_walk_next(struct chunk_walk *walk, struct error *err)
{
	int r = 1;

	walk->position += walk->run;
	while (r > 0 && walk->position >= walk->count)
		r = chunk_walk_inode(walk, err);
	if (r <= 0)
		return r;
	error_clear(&walk->damage);
	if (chunk_get_run(walk->index, &walk->inode, walk->position, &walk->chunk, &walk->run, &walk->damage) < 0) {
		walk->chunk = (struct chunk){ 0 };
		walk->run = 1;
	}
	return 1;
}
