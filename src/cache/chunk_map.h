/* SPDX-License-Identifier: MIT */
/* Where chunks lie in a cache: a table of words that any number of threads, and processes, read and change without a
 * lock. Any word may be wrong, torn, stale or lost: a chunk's own sum decides whether the bytes at its place are the
 * chunk's. So a forged table costs a read at most.
 *
 * A word has CHUNK_MAP_TAG_BITS bits of the chunk's key and the number of a block. There is no length: the index knows
 * it. A chunk has two buckets where it may be, of a cache line each, and goes to the one that is less full: then fewer
 * than one word of a thousand finds both full in a map that is 0.8 full. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CHUNK_MAP_BLOCK      4096u /* bytes */
#define CHUNK_MAP_BUCKET     8u    /* words */
#define CHUNK_MAP_TAG_BITS   24u
#define CHUNK_MAP_BLOCK_BITS 40u
#define CHUNK_MAP_LOAD       0.8 /* of the words that are taken when a cache is full */

struct chunk;

/* The memory is the owner's: buckets * CHUNK_MAP_BUCKET words, zero when the map is empty. */
struct chunk_map {
	_Atomic uint64_t *words;
	uint64_t buckets; /* at least 1, below 2^32 */
};

/* Returns the buckets for so many chunks. */
uint64_t chunk_map_buckets(uint64_t chunks);

static inline uint64_t chunk_map_bytes(uint64_t buckets)
{
	return buckets * CHUNK_MAP_BUCKET * sizeof(uint64_t);
}

/* By the chunk's address, its sum and its stored bytes: space of a volume that is used again has other sums. */
uint64_t chunk_map_key(const struct chunk *chunk);
/* True: a word says that the chunk is at *ret_block. */
bool chunk_map_find(const struct chunk_map *map, uint64_t key, uint64_t *ret_block);
/* False: both buckets are full. */
bool chunk_map_put(struct chunk_map *map, uint64_t key, uint64_t block);
/* Whether a word says that the chunk is at this block. */
bool chunk_map_has(const struct chunk_map *map, uint64_t key, uint64_t block);
/* Removes the word that says so, if it is still there. */
void chunk_map_clear(struct chunk_map *map, uint64_t key, uint64_t block);
/* Removes the words for which gone() says that their block is free. Returns how many are left. */
uint64_t chunk_map_sweep(struct chunk_map *map, bool (*gone)(const void *argument, uint64_t block),
			 const void *argument);
