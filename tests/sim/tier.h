/* SPDX-License-Identifier: MIT */
/* The cache of a worker on a drive of its own, by its rule: what is read is kept until the cache is full, and nothing
 * is ever evicted. It also chooses the order in which the worker reads its files. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "random.h"

#define TIER_STAGED 2048 /* files that wait to be written; beyond that they are dropped */

struct tier_setup {
	uint32_t files; /* that the worker reads; 0: any, and there is no cache */
	double part;    /* of them, that the cache has room for */
	bool draws;     /* each read draws a file; false: each epoch is all of them once, in an order of its own */
	double writes;  /* files a second that the drive takes; 0: no limit */
};

struct tier {
	struct tier_setup setup;
	uint64_t *held; /* a bit a file */
	uint32_t count, room;
	uint32_t turn, step, first; /* the order of this epoch: first + turn * step */
	int64_t gate;   /* ns, when what is staged will be written */
	uint64_t dropped;
};

void tier_init(struct tier *tier, const struct tier_setup *setup); /* ends the program without memory */
void tier_free(struct tier *tier);
uint32_t tier_next(struct tier *tier, struct random *random); /* the file to read next */
bool tier_holds(const struct tier *tier, uint32_t file);
void tier_fill(struct tier *tier, uint32_t file, int64_t now); /* a file that was read from the volume */
