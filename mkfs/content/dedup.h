/* SPDX-License-Identifier: MIT */
/* Content that lies on the volume already: the chunks of its versions, found by their sums. It does not change once it
 * was loaded, so that the readers look and compare side by side. */
#pragma once
#include "content/batch.h"
#include "content/previous_index.h"
#include "image/codec.h"
#include "spill/table.h"

#define DEDUP_RECORD (UINT64_C(1) << 63) /* set in the number of a record that is in dedup->records */

struct dedup {
	struct source *source;
	uint64_t member_size;
	uint32_t chunk_log;
	struct mapped records; /* struct dsfs_chunk; those of one large file lie together */
	struct table files;    /* content of a whole file → its first record */
	struct table pieces;   /* content of a chunk of a large file → its record */
};

/* Empty: no version was added. */
must_check int dedup_open(struct dedup *dedup, const struct temp *temp, struct source *source, uint64_t member_size,
			  uint32_t chunk_log, struct error *err);
/* Versions are added with the newest first: what was found in one is not looked for in older ones. */
must_check int dedup_add(struct dedup *dedup, const struct previous_index *previous, struct error *err);
void dedup_close(struct dedup *dedup); /* a zeroed one as well */
/* May chunks of a version with this chunk size stand for those of a file of this size? */
bool dedup_chunks_fit(uint32_t chunk_log, uint32_t earlier_log, uint64_t size);

/* What one thread compares through: windows on the volume, as duplicates mostly lie near the duplicates before them. */
struct dedup_view;
struct dedup_view *dedup_view_new(const struct dedup *dedup); /* NULL without memory */
void dedup_view_free(struct dedup_view *view);
/* Marks the item and its chunks with the records of the same content. What cannot be read or is damaged is no
 * duplicate. The sums of the chunks must be there. */
void dedup_find(struct dedup_view *view, struct batch *batch, struct item *item);
