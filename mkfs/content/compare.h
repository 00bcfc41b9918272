/* SPDX-License-Identifier: MIT */
/* Is a chunk that was stored before the same content? Equal sums are a hint; equal bytes count. */
#pragma once
#include "content/batch.h"
#include "image/chunk.h"

/* What a thread needs to compare. */
struct compare {
	struct codec *codec;
	uint8_t *decoded; /* room for a chunk */
	/* The stored bytes of a chunk, never more than its content; valid until the next call. */
	int (*view)(void *argument, const struct chunk *chunk, const uint8_t **ret, struct error *err);
	void *argument;
};

/* 1 if the record's chunk has the same content, else 0. The record may hold anything, and a chunk that the device
 * cannot read is not the same. Other failures of view() are returned. */
must_check int compare_chunk(const struct compare *compare, const struct dsfs_chunk *record,
			     const struct batch_chunk *chunk, struct error *err);
