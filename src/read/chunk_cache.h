/* SPDX-License-Identifier: MIT */
/* Recently verified chunks that a request wanted only in part: a sequential reader's next request finds the rest here
 * instead of on the device. Shared by all workers. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"

#define CHUNK_CACHE_SIZE (UINT64_C(8) << 20)

struct chunk_cache;

/* Reserves CHUNK_CACHE_SIZE for chunks of up to chunk_size bytes. */
must_check int chunk_cache_new(size_t chunk_size, struct chunk_cache **ret, struct error *err);
/* Returns the size of the largest chunk that it keeps. */
size_t chunk_cache_room(const struct chunk_cache *cache);
void chunk_cache_free(struct chunk_cache *cache);
enum chunk_cached {
	CHUNK_ABSENT,
	CHUNK_FOUND,  /* copied */
	CHUNK_COMING, /* another request is reading it */
	CHUNK_CLAIMED /* absent; the caller must now read it and call chunk_cache_put() or chunk_cache_drop() */
};

/* Copies want bytes at skip of the chunk with this number in the version's index, if it is cached. key is the
 * generation's. */
must_check enum chunk_cached chunk_cache_get(struct chunk_cache *cache, uint64_t key, uint64_t number,
					     size_t skip, size_t want, void *out);
/* Stores a copy of a claimed chunk, which lies in pieces. */
void chunk_cache_put(struct chunk_cache *cache, uint64_t key, uint64_t number,
		     const struct iovec *pieces, int count);
/* Gives up a claim, because the chunk could not be read. */
void chunk_cache_drop(struct chunk_cache *cache, uint64_t key, uint64_t number);
