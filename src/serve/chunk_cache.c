/* SPDX-License-Identifier: MIT */
/* A few dozen entries of one size under one lock; bytes are copied outside of it, while the entry is pinned. */
#include "serve/chunk_cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct chunk_entry {
	uint64_t sequence, number; /* sequence 0: empty */
	uint64_t used;             /* when, by the cache's clock */
	size_t length;
	unsigned pins;             /* threads that copy from or to it */
	uint8_t *bytes;
};

struct chunk_cache {
	pthread_mutex_t lock; /* all but the bytes */
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
		return error_set(err, -ENOMEM, "no memory for the chunk cache");
	memory = mmap(NULL, CHUNK_CACHE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		      0);
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

void chunk_cache_free(struct chunk_cache *cache)
{
	if (!cache)
		return;
	munmap(cache->memory, CHUNK_CACHE_SIZE);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

/* Under the lock. */
static struct chunk_entry *chunk_cache_find(struct chunk_cache *cache, uint64_t sequence, uint64_t number)
{
	for (size_t i = 0; i < cache->count; i++)
		if (cache->entries[i].sequence == sequence && cache->entries[i].number == number)
			return &cache->entries[i];
	return NULL;
}

static void chunk_cache_unpin(struct chunk_cache *cache, struct chunk_entry *entry)
{
	pthread_mutex_lock(&cache->lock);
	entry->pins--;
	pthread_mutex_unlock(&cache->lock);
}

bool chunk_cache_get(struct chunk_cache *cache, uint64_t sequence, uint64_t number, size_t skip, size_t want,
		     void *out)
{
	struct chunk_entry *entry;

	pthread_mutex_lock(&cache->lock);
	entry = chunk_cache_find(cache, sequence, number);
	if (entry && want <= entry->length && skip <= entry->length - want) {
		entry->pins++;
		entry->used = ++cache->clock;
	} else {
		entry = NULL;
	}
	pthread_mutex_unlock(&cache->lock);
	if (!entry)
		return false;
	memcpy(out, entry->bytes + skip, want);
	chunk_cache_unpin(cache, entry);
	return true;
}

/* The least recently used entry that nobody copies, emptied and pinned; NULL when the chunk is there already or all
 * are in use. */
static struct chunk_entry *chunk_cache_claim(struct chunk_cache *cache, uint64_t sequence, uint64_t number)
{
	struct chunk_entry *oldest = NULL;

	pthread_mutex_lock(&cache->lock);
	if (!chunk_cache_find(cache, sequence, number))
		for (size_t i = 0; i < cache->count; i++)
			if (!cache->entries[i].pins && (!oldest || cache->entries[i].used < oldest->used))
				oldest = &cache->entries[i];
	if (oldest) {
		oldest->sequence = 0;
		oldest->pins = 1;
	}
	pthread_mutex_unlock(&cache->lock);
	return oldest;
}

void chunk_cache_put(struct chunk_cache *cache, uint64_t sequence, uint64_t number, const struct iovec *pieces,
		     int count)
{
	struct chunk_entry *entry;
	size_t length = 0;

	for (int i = 0; i < count; i++)
		length += pieces[i].iov_len;
	if (length > cache->chunk_size)
		return;
	entry = chunk_cache_claim(cache, sequence, number);
	if (!entry)
		return;
	length = 0;
	for (int i = 0; i < count; i++) {
		memcpy(entry->bytes + length, pieces[i].iov_base, pieces[i].iov_len);
		length += pieces[i].iov_len;
	}
	pthread_mutex_lock(&cache->lock);
	entry->sequence = sequence;
	entry->number = number;
	entry->length = length;
	entry->used = ++cache->clock;
	entry->pins--;
	pthread_mutex_unlock(&cache->lock);
}
