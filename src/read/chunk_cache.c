/* SPDX-License-Identifier: MIT */
/* A few dozen entries of one size under one lock. Bytes are copied outside the lock, while the entry is pinned. */
#include "read/chunk_cache.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct chunk_entry {
	uint64_t key, number; /* key 0: empty */
	uint64_t used;             /* time of last use, by the cache's clock */
	size_t length;
	unsigned pins; /* threads that copy from it; 1 while it is being read */
	bool coming;   /* claimed, without bytes yet */
	uint8_t *bytes;
};

struct chunk_cache {
	pthread_mutex_t lock; /* protects everything except the bytes */
	uint64_t clock;
	size_t chunk_size, count;
	uint8_t *memory;
	struct chunk_entry entries[];
};

int chunk_cache_new(size_t chunk_size, struct chunk_cache **ret, struct error *err)
{
	size_t count = CHUNK_CACHE_SIZE / chunk_size;
	struct chunk_cache *cache = calloc(1, sizeof(*cache) + count * sizeof(cache->entries[0]));
	void *memory;

	if (!cache)
		return error_no_memory(err);
	memory = mmap(NULL, CHUNK_CACHE_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		free(cache);
		return error_errno(err, "cannot reserve the chunk cache");
	}
	pthread_mutex_init(&cache->lock, NULL);
	cache->memory = memory;
	cache->chunk_size = chunk_size;
	cache->count = count;
	for (size_t i = 0; i < count; i++)
		cache->entries[i].bytes = cache->memory + i * chunk_size;
	*ret = cache;
	return 0;
}

size_t chunk_cache_room(const struct chunk_cache *cache)
{
	return cache->chunk_size;
}

void chunk_cache_free(struct chunk_cache *cache)
{
	if (!cache)
		return;
	munmap(cache->memory, CHUNK_CACHE_SIZE);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

/* Requires the lock. */
static struct chunk_entry *chunk_cache_find(struct chunk_cache *cache, uint64_t key, uint64_t number)
{
	for (size_t i = 0; i < cache->count; i++)
		if (cache->entries[i].key == key && cache->entries[i].number == number)
			return &cache->entries[i];
	return NULL;
}

/* Returns the least recently used entry that is not pinned; NULL if all are. Requires the lock. */
static struct chunk_entry *chunk_cache_oldest(struct chunk_cache *cache)
{
	struct chunk_entry *oldest = NULL;

	for (size_t i = 0; i < cache->count; i++)
		if (!cache->entries[i].pins && (!oldest || cache->entries[i].used < oldest->used))
			oldest = &cache->entries[i];
	return oldest;
}

/* Reserves the oldest entry for a chunk that the caller will read. Requires the lock. */
static enum chunk_cached chunk_cache_claim(struct chunk_cache *cache, uint64_t key, uint64_t number)
{
	struct chunk_entry *entry = chunk_cache_oldest(cache);

	if (!entry)
		return CHUNK_ABSENT;
	entry->key = key;
	entry->number = number;
	entry->coming = true;
	entry->pins = 1;
	return CHUNK_CLAIMED;
}

enum chunk_cached chunk_cache_get(struct chunk_cache *cache, uint64_t key, uint64_t number, size_t skip,
				  size_t want, void *out)
{
	enum chunk_cached result = CHUNK_ABSENT;
	struct chunk_entry *entry;

	pthread_mutex_lock(&cache->lock);
	entry = chunk_cache_find(cache, key, number);
	if (!entry) {
		result = chunk_cache_claim(cache, key, number);
	} else if (entry->coming) {
		result = CHUNK_COMING;
	} else if (want <= entry->length && skip <= entry->length - want) {
		result = CHUNK_FOUND;
		entry->pins++;
		entry->used = ++cache->clock;
	}
	pthread_mutex_unlock(&cache->lock);
	if (result != CHUNK_FOUND)
		return result;
	memcpy(out, entry->bytes + skip, want);
	pthread_mutex_lock(&cache->lock);
	entry->pins--;
	pthread_mutex_unlock(&cache->lock);
	return result;
}

/* Ends a claim; length 0: drops the entry. */
static void chunk_cache_settle(struct chunk_cache *cache, struct chunk_entry *entry, size_t length)
{
	pthread_mutex_lock(&cache->lock);
	entry->coming = false;
	entry->pins = 0;
	entry->length = length;
	entry->used = length ? ++cache->clock : 0;
	if (!length)
		entry->key = 0;
	pthread_mutex_unlock(&cache->lock);
}

static struct chunk_entry *chunk_cache_claimed(struct chunk_cache *cache, uint64_t key, uint64_t number)
{
	struct chunk_entry *entry;

	pthread_mutex_lock(&cache->lock);
	entry = chunk_cache_find(cache, key, number);
	pthread_mutex_unlock(&cache->lock);
	assert(entry && entry->coming);
	return entry;
}

void chunk_cache_put(struct chunk_cache *cache, uint64_t key, uint64_t number,
		     const struct iovec *pieces, int count)
{
	struct chunk_entry *entry = chunk_cache_claimed(cache, key, number);
	size_t length = 0;

	for (int i = 0; i < count; i++) {
		assert(pieces[i].iov_len <= cache->chunk_size - length);
		memcpy(entry->bytes + length, pieces[i].iov_base, pieces[i].iov_len);
		length += pieces[i].iov_len;
	}
	chunk_cache_settle(cache, entry, length);
}

void chunk_cache_drop(struct chunk_cache *cache, uint64_t key, uint64_t number)
{
	chunk_cache_settle(cache, chunk_cache_claimed(cache, key, number), 0);
}
