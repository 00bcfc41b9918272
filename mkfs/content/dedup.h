/* SPDX-License-Identifier: MIT */
/* Finds content that is already on the volume: the chunks of its versions, by their sums. Nothing changes after
 * loading, so readers search and compare in parallel. */
#pragma once
#include "content/batch.h"
#include "content/previous_index.h"
#include "image/codec.h"
#include "spill/table.h"

#define DEDUP_RECORD (UINT64_C(1) << 63) /* set in the number of a record that is in dedup->records */

struct dedup {
	struct source *source;
	uint64_t member_size;   /* of the only one; */
	struct members members; /* of several: as they were, since new groups come while readers look */
	uint32_t chunk_log;
	struct mapped records; /* struct dsfs_chunk; those of one large file lie together */
	struct table files;    /* content of a whole file → its first record */
	struct table pieces;   /* content of a chunk of a large file → its record */
};

/* Empty: no version was added. */
must_check int dedup_open(struct dedup *dedup, const struct temp *temp, struct source *source, uint64_t member_size,
			  const struct members *members, uint32_t chunk_log, struct error *err);
/* Add the newest version first: content that it has is not taken from older ones. */
must_check int dedup_add(struct dedup *dedup, const struct previous_index *previous, struct error *err);
/* After the last dedup_add(). */
must_check int dedup_settle(struct dedup *dedup, struct error *err);
void dedup_close(struct dedup *dedup); /* a zeroed one as well */
/* Can a file of this size share chunks with a version of another chunk size? */
bool dedup_chunks_fit(uint32_t chunk_log, uint32_t earlier_log, uint64_t size);

/* A thread's windows on the volume: a duplicate is mostly near the one before it. */
struct dedup_view;
struct dedup_view *dedup_view_new(const struct dedup *dedup); /* NULL without memory */
void dedup_view_free(struct dedup_view *view);
/* Sets duplicate_of of the item's chunks, whose sums must be there. A chunk on the volume that is damaged or cannot
 * be read is not a duplicate. */
void dedup_find(struct dedup_view *view, struct batch *batch, struct item *item);
