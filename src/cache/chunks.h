/* SPDX-License-Identifier: MIT */
/* A cache as a reader sees it, who asks where a chunk may lie, and has it take one. It holds stored bytes, which the
 * reader checks by the chunk's own sum as if they came from the volume: anything may be at a place. No call waits for a
 * device. Any thread may call them. */
#pragma once
#include "cache/store.h"
#include "cache/view.h"
#include "image/chunk.h"

/* True: the chunk may be at *ret_place of the data. That is as far behind a block as on the volume. */
bool chunks_find(const struct view *view, const struct chunk *chunk, uint64_t *ret_place);
/* The chunk was there and was wanted: it stays. */
void chunks_hit(struct view *view, uint64_t place);
/* The chunk was not there, or cannot be read. */
void chunks_forget(struct view *view, const struct chunk *chunk, uint64_t place);
/* Takes a copy of the stored bytes of a chunk, which were found right, if there is room. */
void chunks_add(struct store *store, const struct chunk *chunk, const struct iovec *parts, int count);
