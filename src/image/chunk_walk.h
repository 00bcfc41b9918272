/* SPDX-License-Identifier: MIT */
/* Walks over the chunks of all files of a version, in the order of inodes. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "image/chunk.h"
#include "image/index.h"
#include "image/inode.h"

/* A walk, which begins zeroed but for index and, perhaps, each and argument. */
struct chunk_walk {
	const struct index *index;
	/* Called with each inode, of whatever type, before its chunks. */
	void (*each)(void *argument, const struct inode *inode);
	void *argument;
	struct inode inode;  /* the file */
	uint64_t count;      /* chunks of the file */
	uint64_t position;   /* which of them this is */
	uint64_t run;        /* how many from it on are like it: those of a long hole, else 1 */
	struct chunk chunk;  /* zeroed if its record is malformed */
	struct error damage; /* why it is; code 0: it is not */
};

/* Goes on to the next chunk: 1, or 0 at the end. A malformed record is no failure. -EINTR: a signal came. */
must_check int chunk_walk_next(struct chunk_walk *walk, struct error *err);
