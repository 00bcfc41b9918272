/* SPDX-License-Identifier: MIT */
/* Content that lies on the volume already: the chunks of its versions, found by their sums. It does not change once it
 * was loaded, so that the readers look and compare side by side. */
#pragma once
#include "content/batch.h"
#include "content/earlier.h"
#include "image/codec.h"
#include "spill/table.h"

#define KNOWN_RECORD (UINT64_C(1) << 63) /* set in the number of a record that is in known->records */

struct known {
	struct source *source;
	uint64_t member_size;
	uint32_t chunk_log;
	struct mapped records; /* struct dsfs_chunk; those of one large file lie together */
	struct table files;    /* content of a whole file → its first record */
	struct table pieces;   /* content of a chunk of a large file → its record */
};

/* Nothing is known yet. */
must_check int known_open(struct known *known, const struct temp *temp, struct source *source, uint64_t member_size,
			  uint32_t chunk_log, struct error *err);
/* Versions are added with the newest first: what was found in one is not looked for in older ones. */
must_check int known_add(struct known *known, const struct earlier *earlier, struct error *err);
void known_close(struct known *known); /* a zeroed one as well */
/* May chunks of a version with this chunk size stand for those of a file of this size? */
bool known_chunks_fit(uint32_t chunk_log, uint32_t earlier_log, uint64_t size);

/* One thread's eyes: windows on the volume, as what is known mostly lies near what was asked for before. */
struct known_view;
struct known_view *known_view_new(const struct known *known); /* NULL without memory */
void known_view_free(struct known_view *view);
/* Marks the item and its chunks with the records of the same content. What cannot be read or is damaged is not known.
 * The sums of the chunks must be there. */
void known_find(struct known_view *view, struct batch *batch, struct item *item);
