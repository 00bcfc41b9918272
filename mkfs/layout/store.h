/* SPDX-License-Identifier: MIT */
/* Chunks onto the volume, and chunk records. */
#pragma once
#include "layout/sequence.h"

/* fine: sums of the chunk's blocks, of use when it lies raw on the volume; NULL: it has none. */
must_check int store_record(struct sequence *sequence, const struct dsfs_chunk *record, const le64 *fine,
			    struct error *err);
/* The record of a chunk of an earlier version, which stays where it is. */
must_check int store_known(struct sequence *sequence, const struct dsfs_chunk *record, const le64 *fine,
			   struct error *err);
must_check int store_hole(struct sequence *sequence, struct error *err);
/* The chunk's bytes at the writer's place, and its record. */
must_check int store_chunk(struct sequence *sequence, const struct batch_chunk *chunk, struct error *err);
/* A whole file of at most BATCH_BYTES: *ret_first is its first chunk. */
must_check int store_file(struct sequence *sequence, const struct batch *batch, const struct item *item,
			  uint64_t *ret_first, struct error *err);
