/* SPDX-License-Identifier: MIT */
/* Finds how many chunks of a list (read_request.chunks) fit into one read. The list itself is the caller's. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct chunk;

/* The chunks that were added so far, in the order of the list. Zeroed before the first one, except gap. */
struct gather {
	uint32_t gap;             /* as in read_request */
	uint32_t count;           /* of chunks */
	uint64_t content, stored; /* bytes of content; bytes read from devices, with the gaps that are read over */
	uint64_t end;             /* address behind the last chunk on a device */
};

/* Adds a chunk. False: the read has no room for it. The first one always fits. */
bool gather_add(struct gather *gather, const struct chunk *chunk);
