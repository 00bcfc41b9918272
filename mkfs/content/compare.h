/* SPDX-License-Identifier: MIT */
/* Tells whether a stored chunk has the same content as a new one. Equal sums are only a hint; equal bytes decide. */
#pragma once
#include "content/batch.h"
#include "image/chunk.h"

/* A thread's state for comparing chunks. */
struct compare {
	struct codec *codec;
	uint8_t *decoded; /* room for a chunk */
	/* Sets *ret to the stored bytes of a chunk, never more than its content; they are valid until the next call. */
	int (*view)(void *argument, const struct chunk *chunk, const uint8_t **ret, struct error *err);
	void *argument;
};

/* Returns 1 if the record's chunk has the same content, else 0. The record has a sum of the
 * new chunk's kind, else it may hold anything, and a chunk that the
 * device cannot read is not the same. Other failures of view() are returned. */
must_check int compare_chunk(const struct compare *compare, const struct dsfs_chunk *record,
			     const struct batch_chunk *chunk, struct error *err);
