/* SPDX-License-Identifier: MIT */
/* Writes chunks to the volume by the placement rules, and adds their records. */
#pragma once
#include "layout/records.h"
#include "layout/scatter.h"
#include "output/writer.h"
#include "volume/space/allocator.h"

#define STORE_INLINE_MAX   128u        /* files up to this size go into the index */
#define STORE_INLINE_TOTAL (64u << 20) /* the most bytes of such files in all */

struct store {
	struct writer *writer;
	struct allocator *allocator;
	struct records *records;
	struct scatter *scatter; /* takes small files; NULL: they are written as they come */
	/* so far: */
	uint64_t inline_bytes;
	uint64_t existing_bytes, existing_raw_bytes; /* stored bytes of store_existing(): all; those not compressed */
};

/* Stores a whole file of at most BATCH_BYTES. *ret_first: its first record. */
must_check int store_file(struct store *store, const struct batch *batch, const struct item *item, uint64_t *ret_first,
			  struct error *err);
/* Writes the chunk into the reserved space, and adds its record. */
must_check int store_chunk(struct store *store, const struct batch_chunk *chunk, struct error *err);
/* Adds the record of a chunk that is already on the volume. block_sums as in records_add_chunk(). */
must_check int store_existing(struct store *store, const struct dsfs_chunk *record, const uint8_t *block_sums,
			      struct error *err);
