/* SPDX-License-Identifier: MIT */
/* Finds content that is already stored, in this version or an older one. Equal sums are only a hint; equal bytes
 * decide. */
#pragma once
#include "content/dedup.h"
#include "layout/records.h"
#include "layout/scatter.h"
#include "output/writer.h"

/* Stored content. A chunk is identified by the number of its record: in this version, or with DEDUP_RECORD in struct
 * dedup. */
struct share {
	const struct dedup *dedup; /* NULL on a new volume */
	const struct records *records;
	struct writer *writer;
	struct scatter *scatter; /* has bytes of this version that wait; NULL: none do */
	struct codec *codec;
	uint8_t *decoded;    /* room for a chunk */
	struct table files;  /* content of a whole file → its first record in this version */
	struct table pieces; /* content of a chunk of a large file → its record in this version */
};

must_check int share_open(struct share *share, const struct dedup *dedup, const struct records *records,
			  struct writer *writer, const struct temp *temp, struct error *err);
void share_close(struct share *share); /* a zeroed one may be closed, too */

const struct dsfs_chunk *share_record(const struct share *share, uint64_t record);
/* Returns 1 if the chunk with this record has the same content; 0 if not, or if it cannot be read. */
must_check int share_is_same(const struct share *share, uint64_t record, const struct batch_chunk *chunk,
			     struct error *err);
/* Returns whether a run may continue with this record: its chunk begins where that of the record before ends, or both
 * belong to an older version. */
bool share_follows(const struct share *share, uint64_t record);

/* Returns 1 and the first record of a whole file of this version with the same content, or 0 if there is none. */
must_check int share_find_file(const struct share *share, const struct batch *batch, const struct item *item,
			       uint64_t *ret_first, struct error *err);
/* Returns true and the first record of a file of this version whose records are these, for a file that was not read. */
bool share_find_records(const struct share *share, const struct item *item, const void *records, uint64_t count,
			uint64_t *ret_first);
/* Adds a file so that later ones with the same content find its records. Does nothing if an earlier one has the key. */
must_check int share_add_file(struct share *share, const struct item *item, uint64_t first, struct error *err);
/* Prefetches the table slot that share_find_file() needs. */
void share_prefetch(const struct share *share, const struct item *item);

/* Finds a chunk of a large file of this version with the same key, so probably with the same content. */
bool share_find_piece(const struct share *share, const struct batch_chunk *chunk, uint64_t *ret_record);
must_check int share_add_piece(struct share *share, const struct batch_chunk *chunk, uint64_t record,
			       struct error *err);
