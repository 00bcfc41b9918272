/* SPDX-License-Identifier: MIT */
/* The cache of a worker on a drive of its own. Where files lie, which slots are taken and when one may be used again
 * say src/cache/chunk_map.c and src/cache/slots.c; what the stage and its writer do there (stage.c, store.c) is done
 * here as well: files wait in four buffers, each of them a slot to be, and are written when one is full, or after a
 * quarter of a second; what finds no room is dropped. Who writes and how long that takes is the model's. */
#pragma once
#include "cache/chunk_map.h"
#include "cache/stage.h"
#include "lru.h"

#define TIER_LINGER INT64_C(250000000) /* ns that a file waits for others to fill its slot */

struct tier_setup {
	uint32_t files;   /* of the data set; 0: there is no cache */
	uint64_t bytes;   /* of a file */
	double part;      /* of all files, that there is room for */
	int64_t day;      /* ns that count as a day */
	bool begins_full; /* with files chosen by chance */
	bool evicts;      /* it is an LRU instead */
	bool waits;       /* a reader waits where there is no room in a buffer, and nothing is dropped */
	bool is_alone;    /* the volume is never read beside it */
};

struct tier {
	const struct tier_setup *setup;
	struct slots slots;
	struct chunk_map map;
	uint64_t *contents; /* id of the file at each place; 0: none */
	uint32_t per_slot, blocks; /* files of a slot, blocks of a file */
	struct lru lru;
	/* The stage: */
	uint64_t *staged; /* ids, buffer by buffer */
	uint32_t counts[STAGE_BUFFERS];
	unsigned first, last; /* as in struct stage */
	bool accepts;
	int64_t resumes;  /* when to look whether it may accept again */
	/* The writer: */
	bool has_slot;
	uint32_t slot, from, to; /* files of the first buffer that are being written: to is behind the last one */
	uint64_t left;    /* bytes of them that are not written yet; 0: nothing is being written */
	uint32_t puts; /* files that it began with */
	uint64_t filled, dropped, wrong, written; /* files, and bytes */
};

/* Ends the program without memory. The setup must outlive it. */
void tier_init(struct tier *tier, const struct tier_setup *setup, int64_t now);
void tier_free(struct tier *tier);

/* The lower half of an id is the number of a file, the upper half says which content it has; an id is never 0. True:
 * the file may be at this block. */
bool tier_find(const struct tier *tier, uint64_t id, uint64_t *ret_block);
/* The block has come. False: something else is there, and the volume must be read. */
bool tier_hit(struct tier *tier, uint64_t id, uint64_t block, int64_t now);
/* Offers a file that was read from the volume. False: the reader has to wait, for there is no room and nothing may be
 * dropped. */
bool tier_add(struct tier *tier, uint64_t id, int64_t now);
/* Puts a file into the cache at once, before anything is read, if there is room. */
void tier_put(struct tier *tier, uint64_t id, int64_t now);

/* Whether a buffer is full, so that the writer need not wait. */
bool tier_is_due(const struct tier *tier);
/* Whether anything waits to be written. */
bool tier_has_more(const struct tier *tier);
/* Begins to write what is there: tier->left. */
void tier_begin(struct tier *tier, int64_t now);
/* So many bytes are written. */
void tier_wrote(struct tier *tier, uint64_t bytes);
/* Part of all files that it holds. */
double tier_fullness(const struct tier *tier);
