/* SPDX-License-Identifier: MIT */
/* Writes chunks to the volume by the placement rules, and their records. */
#pragma once
#include "volume/allocator.h"
#include "layout/records.h"
#include "output/writer.h"

#define STORE_INLINE_MAX   128u        /* files up to this size go into the index */
#define STORE_INLINE_TOTAL (64u << 20) /* as long as their total is not above this */

struct store {
	struct writer *writer;
	struct allocator *allocator;
	struct records *records;
	/* so far: */
	uint64_t inline_bytes;
	uint64_t existing_bytes, existing_raw_bytes; /* of store_existing(): as stored; those that are not compressed */
};

/* A whole file of at most BATCH_BYTES: *ret_first is its first record. */
must_check int store_file(struct store *store, const struct batch *batch, const struct item *item, uint64_t *ret_first,
			  struct error *err);
/* Writes the chunk into the reserved space, and its record. */
must_check int store_chunk(struct store *store, const struct batch_chunk *chunk, struct error *err);
/* Adds the record of a chunk that is already on the volume. block_sums as in records_add_chunk(). */
must_check int store_existing(struct store *store, const struct dsfs_chunk *record, const dsfs_le64 *block_sums,
			      struct error *err);
