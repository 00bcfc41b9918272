/* SPDX-License-Identifier: MIT */
/* Finds content that was stored before. Equal sums are a hint; equal bytes count. */
#pragma once
#include "layout/sequence.h"

/* 1 and the first chunk of the same content, 0 when there is none. */
must_check int share_find_file(struct sequence *sequence, const struct batch *batch, const struct item *item,
			       uint64_t *ret_first, struct error *err);
/* Records are numbered in sequence->chunks, or with KNOWN_RECORD in known->records.
 * 1 when the chunk with this record has the same content, 0 when not, or when it cannot be read. */
must_check int share_is_same(struct sequence *sequence, uint64_t record, const struct batch_chunk *chunk,
			     struct error *err);
/* Does the record's chunk go on where the one before it ends? */
bool share_follows(const struct sequence *sequence, uint64_t record);
const struct dsfs_chunk *share_record(const struct sequence *sequence, uint64_t record);
