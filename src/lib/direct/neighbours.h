/* SPDX-License-Identifier: MIT */
/* Finds whole small files that lie side by side on the volume, so that one read of the device serves many of them. */
#pragma once
#include "image/chunk.h"
#include "lib/direct/direct.h"
#include "lib/permission.h"

/* The contents of all, with a gap behind each, must fit in one read. */
#define NEIGHBOURS_MAX   128u
#define NEIGHBOURS_GAP   (4u << 10)   /* bytes between two of them that are read over rather than skipped */
#define NEIGHBOURS_BYTES (512u << 10) /* of contents */
#define NEIGHBOURS_MEMBERS 8u         /* members in from: files on more would take another round */

struct neighbours {
	uint32_t count;
	uint32_t members;                  /* members on which they lie */
	uint64_t from[NEIGHBOURS_MEMBERS]; /* the address of the first file on each */
	uint64_t bytes;                    /* of contents */
	struct chunk chunks[NEIGHBOURS_MAX]; /* in the order of addresses */
	uint8_t reads[NEIGHBOURS_MAX];     /* the index of the read to which each chunk belongs */
};

/* Finds how many reads, from the first on, can be joined; they must have no buffers. Sets ret->count to 0 when not
 * even the first two can. Random readers pay for one comparison of two ids. */
void neighbours_find(const struct direct *direct, struct permission *permission, const struct dsfs_read *reads,
		     size_t count, struct neighbours *ret);
