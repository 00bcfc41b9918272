/* SPDX-License-Identifier: MIT */
/* Walks over the chunks of all files of a version, in the order of inodes. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "image/chunk.h"
#include "image/index.h"
#include "image/inode.h"

/* A walk. Zeroed before the first step, except index and, if wanted, each and argument. */
struct chunk_walk {
	const struct index *index;
	/* Called with each inode, of whatever type, before its chunks. */
	void (*each)(void *argument, const struct inode *inode);
	void *argument;
	struct inode inode;  /* the file */
	uint64_t count;      /* chunks of the file */
	uint64_t position;   /* number of the current chunk in the file */
	uint64_t run;        /* 1, or in a long hole the number of chunks from this one to its end */
	struct chunk chunk;  /* zeroed if its record is malformed */
	struct error damage; /* why the record is malformed; code 0: it is not */
};

/* Goes on to the next chunk: returns 1, or 0 at the end. A malformed record is not a failure: it sets damage. -EINTR: a
 * signal came. */
must_check int chunk_walk_next(struct chunk_walk *walk, struct error *err);
