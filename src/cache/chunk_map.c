/* SPDX-License-Identifier: MIT */
/* Looks at two cache lines for each chunk. */
#include "cache/chunk_map.h"

#include <string.h>

#include "base/hash.h"
#include "image/chunk.h"

#define CHUNK_MAP_BLOCK_MASK ((UINT64_C(1) << CHUNK_MAP_BLOCK_BITS) - 1)

uint64_t chunk_map_buckets(uint64_t chunks)
{
	uint64_t buckets = (uint64_t)((double)chunks / CHUNK_MAP_LOAD) / CHUNK_MAP_BUCKET + 1;

	return buckets < UINT32_MAX ? buckets : UINT32_MAX;
}

uint64_t chunk_map_key(const struct chunk *chunk)
{
	uint64_t sum, key;

	memcpy(&sum, chunk->sum.bytes, sizeof(sum));
	key = hash_spread(chunk->address) ^ hash_spread(sum) ^ chunk->stored;
	key = hash_spread(key ^ key >> 32);
	return key ^ key >> 32;
}

/* A word is never 0, which is an empty one: no tag is. */
static uint64_t map_word(uint64_t key, uint64_t block)
{
	uint64_t tag = key & ((UINT64_C(1) << CHUNK_MAP_TAG_BITS) - 1);

	return (tag ? tag : 1) << CHUNK_MAP_BLOCK_BITS | (block & CHUNK_MAP_BLOCK_MASK);
}

static uint64_t map_load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

/* Returns the first word of one of the key's two buckets, which are chosen by other bits than the tag. */
static _Atomic uint64_t *map_bucket(const struct chunk_map *map, uint64_t key, unsigned way)
{
	uint64_t hash = (way ? hash_spread(key) : key) >> 32;

	return map->words + (hash * map->buckets >> 32) * CHUNK_MAP_BUCKET;
}

bool chunk_map_find(const struct chunk_map *map, uint64_t key, uint64_t *ret_block)
{
	uint64_t tag = map_word(key, 0) >> CHUNK_MAP_BLOCK_BITS, word;

	for (unsigned way = 0; way < 2; way++) {
		const _Atomic uint64_t *bucket = map_bucket(map, key, way);

		for (unsigned i = 0; i < CHUNK_MAP_BUCKET; i++) {
			word = map_load(&bucket[i]);
			if (word >> CHUNK_MAP_BLOCK_BITS == tag) {
				*ret_block = word & CHUNK_MAP_BLOCK_MASK;
				return true;
			}
		}
	}
	return false;
}

bool chunk_map_has(const struct chunk_map *map, uint64_t key, uint64_t block)
{
	uint64_t word = map_word(key, block);

	for (unsigned way = 0; way < 2; way++) {
		const _Atomic uint64_t *bucket = map_bucket(map, key, way);

		for (unsigned i = 0; i < CHUNK_MAP_BUCKET; i++)
			if (map_load(&bucket[i]) == word)
				return true;
	}
	return false;
}

static unsigned map_used(const _Atomic uint64_t *bucket)
{
	unsigned used = 0;

	for (unsigned i = 0; i < CHUNK_MAP_BUCKET; i++)
		used += map_load(&bucket[i]) != 0;
	return used;
}

/* False: the bucket is full. */
static bool map_put_into(_Atomic uint64_t *bucket, uint64_t word)
{
	uint64_t empty;

	for (unsigned i = 0; i < CHUNK_MAP_BUCKET; i++) {
		empty = 0;
		if (atomic_compare_exchange_strong(&bucket[i], &empty, word))
			return true;
	}
	return false;
}

bool chunk_map_put(struct chunk_map *map, uint64_t key, uint64_t block)
{
	_Atomic uint64_t *first = map_bucket(map, key, 0), *second = map_bucket(map, key, 1);
	uint64_t word = map_word(key, block);

	return map_used(first) <= map_used(second) ? map_put_into(first, word) || map_put_into(second, word) :
						     map_put_into(second, word) || map_put_into(first, word);
}

void chunk_map_clear(struct chunk_map *map, uint64_t key, uint64_t block)
{
	uint64_t word = map_word(key, block), expected;

	for (unsigned way = 0; way < 2; way++) {
		_Atomic uint64_t *bucket = map_bucket(map, key, way);

		for (unsigned i = 0; i < CHUNK_MAP_BUCKET; i++) {
			expected = word;
			atomic_compare_exchange_strong(&bucket[i], &expected, 0);
		}
	}
}

uint64_t chunk_map_sweep(struct chunk_map *map, bool (*gone)(const void *argument, uint64_t block),
			 const void *argument)
{
	uint64_t left = 0, word;

	for (uint64_t i = 0; i < map->buckets * CHUNK_MAP_BUCKET; i++) {
		word = map_load(&map->words[i]);
		if (word && gone(argument, word & CHUNK_MAP_BLOCK_MASK))
			atomic_compare_exchange_strong(&map->words[i], &word, 0);
		else
			left += word != 0;
	}
	return left;
}
