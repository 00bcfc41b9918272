/* SPDX-License-Identifier: MIT */
/* Whole small files that lie side by side on the volume: one read of the device does for many of them. */
#pragma once
#include "image/chunk.h"
#include "lib/direct.h"
#include "lib/permission.h"

/* Together, and with a gap behind each, no more than a read may take. */
#define NEIGHBOURS_MAX   128u
#define NEIGHBOURS_GAP   (4u << 10)   /* bytes between two of them that are read over rather than skipped */
#define NEIGHBOURS_BYTES (512u << 10) /* of contents */
#define NEIGHBOURS_MEMBERS 8u         /* with a place on each: more would be read one round after the other */

struct neighbours {
	uint32_t count;
	uint32_t members;                  /* on which they lie, */
	uint64_t from[NEIGHBOURS_MEMBERS]; /* and where the first one of each does */
	uint64_t bytes;                    /* of contents */
	struct chunk chunks[NEIGHBOURS_MAX]; /* in the order of the volume, */
	uint8_t reads[NEIGHBOURS_MAX];     /* and of which read each is */
};

/* Those of reads, without buffers, from the first on; ret->count is 0 where the first two are none. Whoever reads at
 * random pays for a look at two ids. */
void neighbours_find(const struct direct *direct, struct permission *permission, const struct dsfs_read *reads,
		     size_t count, struct neighbours *ret);
