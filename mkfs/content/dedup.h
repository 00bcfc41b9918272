/* SPDX-License-Identifier: MIT */
/* Finds content that is already on the volume, by the sums of the chunks of its versions. Nothing changes after
 * loading, so readers search and compare in parallel. */
#pragma once
#include "content/batch.h"
#include "content/previous_index.h"
#include "image/codec.h"
#include "image/members/backing.h"
#include "spill/table.h"

#define DEDUP_RECORD (UINT64_C(1) << 63) /* set in the number of a record that is in dedup->records */

struct dedup {
	struct backing backing;
	struct members members; /* a copy of the backing's, to which groups are added while readers look */
	uint32_t chunk_log;
	uint32_t sums;         /* DSFS_SUM_* of its versions */
	struct mapped records; /* chunk records; those of one large file lie together */
	struct table files;    /* content of a whole file → its first record */
	struct table pieces;   /* content of a chunk of a large file → its record */
};

/* Opens a struct dedup without any version in it. */
must_check int dedup_open(struct dedup *dedup, const struct temp *temp, struct backing backing, uint32_t chunk_log,
			  uint32_t sums, struct error *err);
/* Adds the chunks of a version with sums of this kind. Must be called for the newest version first, because content
 * that was added already is not added again. */
must_check int dedup_add(struct dedup *dedup, const struct previous_index *previous, struct error *err);
/* Makes look-ups cheap, after the last dedup_add(). */
must_check int dedup_settle(struct dedup *dedup, struct error *err);
void dedup_close(struct dedup *dedup); /* a zeroed one may be closed, too */
/* Returns whether a file of this size can share chunks with a version of another chunk size. */
bool dedup_chunks_fit(uint32_t chunk_log, uint32_t earlier_log, uint64_t size);

/* A thread's windows on the volume: a duplicate mostly lies near the one before it. */
struct dedup_view;
struct dedup_view *dedup_view_new(const struct dedup *dedup); /* NULL: out of memory */
void dedup_view_free(struct dedup_view *view);
/* Sets duplicate_of in the item's chunks. Their sums must be set already. A chunk on the volume that is damaged or
 * cannot be read is not a duplicate. */
void dedup_find(struct dedup_view *view, struct batch *batch, struct item *item);
