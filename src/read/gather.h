/* SPDX-License-Identifier: MIT */
/* Adds up what a read of a list of chunks (read_request.chunks) takes, as long as the next chunk fits into it. The list
 * itself is the caller's. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct chunk;

/* A read to which chunks are added in the order of the list; all but gap begins zeroed. */
struct gather {
	uint32_t gap;             /* as in read_request */
	uint32_t count;           /* of chunks */
	uint64_t content, stored; /* bytes of content; bytes that devices bring, with the gaps that are read over */
	uint64_t end;             /* address behind the last chunk on a device */
};

/* Adds a chunk. False: the read has no room for it. The first one always fits. */
bool gather_add(struct gather *gather, const struct chunk *chunk);
