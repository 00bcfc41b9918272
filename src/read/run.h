/* SPDX-License-Identifier: MIT */
/* Joins files, or single chunks, that lie near each other into the list of chunks of one read
 * (read_request.chunks). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "image/chunk.h"

/* The list. The owner zeroes it and sets the first three fields. */
struct run {
	const struct index *index; /* of the files */
	struct chunk *chunks;      /* has room for READ_PIECES, or all that are added; NULL: they are only counted */
	uint32_t gap;              /* as in read_request */
	uint32_t count;            /* of chunks, in the order in which they were added */
	uint64_t content, stored;  /* bytes of content; bytes read from devices, with the gaps that are read over */
	uint64_t end;              /* address behind the last chunk on a device */
};

/* Adds a chunk. False: the read has no room for it, or is large and goes on at another member, so that the chunks
 * there come in one piece with the next read. The first one always fits. */
bool run_add(struct run *run, const struct chunk *chunk);
/* Adds all chunks of a file. False: they do not fit beside the others, or its records are damaged; none was added. */
bool run_add_file(struct run *run, const struct inode *inode);

/* Where a file of at most READ_MAX bytes lies. */
struct run_place {
	uint64_t address; /* of its first chunk on a member; 0: it has none there */
	uint64_t stored;  /* bytes of its chunks that lie there one behind the other */
	uint64_t count;   /* of these chunks */
};

struct run_place run_find(const struct index *index, const struct inode *inode);
/* Whether a chunk that was added with a file belongs to this one. */
bool run_has(const struct index *index, uint64_t ordinal, const struct chunk *chunk);
