/* SPDX-License-Identifier: MIT */
/* Finds whole small files that lie side by side on the volume, so that one read of the device serves many of them. */
#pragma once
#include "image/chunk.h"
#include "lib/direct/direct.h"
#include "lib/permission.h"

/* Limits of the files that one read joins. The contents of all, with a gap after each, must fit in one read. */
#define NEIGHBOURS_MAX   128u
#define NEIGHBOURS_GAP   (4u << 10)   /* largest gap between two of them that is read rather than skipped */
#define NEIGHBOURS_BYTES (512u << 10) /* of contents */
#define NEIGHBOURS_MEMBERS 8u         /* size of from: files on more members would take another round */

struct neighbours {
	uint32_t count;
	uint32_t members;                  /* members on which the files lie */
	uint64_t from[NEIGHBOURS_MEMBERS]; /* the address of the first file on each */
	uint64_t bytes;                    /* of contents */
	struct chunk chunks[NEIGHBOURS_MAX]; /* in the order of addresses */
	uint8_t reads[NEIGHBOURS_MAX];     /* the index of the read to which each chunk belongs */
};

/* Finds how many of the reads, from the first on, can be joined. The reads must have no buffers. Sets ret->count to 0
 * if not even the first two can. Costs a random reader one comparison of two ids. */
void neighbours_find(const struct direct *direct, struct permission *permission, const struct dsfs_read *reads,
		     size_t count, struct neighbours *ret);
