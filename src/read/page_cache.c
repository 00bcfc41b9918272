/* SPDX-License-Identifier: MIT */
/* Sets of a few entries, chosen by page number; a new page replaces the least recently used entry of its set. Each
 * set has its own lock, so workers contend only for pages of the same set. */
#include "read/page_cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "datasetfs/format.h"

#define PAGE_CACHE_WAYS 8u
#define PAGE_CACHE_SETS (PAGE_CACHE_SIZE / DSFS_BLOCK / PAGE_CACHE_WAYS)

struct page_entry {
	uint64_t key, page; /* key 0: empty */
	uint64_t used;           /* time of last use, by the set's clock */
	bool bad;
};

struct page_set {
	pthread_mutex_t lock;
	uint64_t clock;
	struct page_entry entries[PAGE_CACHE_WAYS];
};

struct page_cache {
	uint8_t *memory;
	struct page_set sets[PAGE_CACHE_SETS];
};

int page_cache_new(struct page_cache **ret, struct error *err)
{
	struct page_cache *cache = calloc(1, sizeof(*cache));
	void *memory;

	if (!cache)
		return error_no_memory(err);
	memory = mmap(NULL, PAGE_CACHE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		      0);
	if (memory == MAP_FAILED) {
		free(cache);
		return error_errno(err, "cannot reserve the cache of block checksums");
	}
	cache->memory = memory; /* zeros are PTHREAD_MUTEX_INITIALIZER, so a cache without pages takes no memory */
	*ret = cache;
	return 0;
}

void page_cache_free(struct page_cache *cache)
{
	if (!cache)
		return;
	munmap(cache->memory, PAGE_CACHE_SIZE);
	free(cache);
}

/* Puts neighbouring pages into different sets. */
static struct page_set *page_cache_set(struct page_cache *cache, uint64_t key, uint64_t page)
{
	return &cache->sets[(page + hash_spread(key)) % PAGE_CACHE_SETS];
}

static uint8_t *page_cache_bytes(const struct page_cache *cache, const struct page_set *set,
				 const struct page_entry *entry)
{
	size_t number = (size_t)(set - cache->sets) * PAGE_CACHE_WAYS + (size_t)(entry - set->entries);

	return cache->memory + number * DSFS_BLOCK;
}

/* Returns the page's entry, else the oldest one if for_new, else NULL. Requires the set's lock. */
static struct page_entry *page_cache_find(struct page_set *set, uint64_t key, uint64_t page, bool for_new)
{
	struct page_entry *oldest = &set->entries[0];

	for (unsigned i = 0; i < PAGE_CACHE_WAYS; i++) {
		struct page_entry *entry = &set->entries[i];

		if (entry->key == key && entry->page == page)
			return entry;
		if (entry->used < oldest->used)
			oldest = entry;
	}
	return for_new ? oldest : NULL;
}

enum page_cached page_cache_get(struct page_cache *cache, uint64_t key, uint64_t page, uint32_t offset,
				uint32_t length, void *out)
{
	struct page_set *set = page_cache_set(cache, key, page);
	enum page_cached result = PAGE_ABSENT;
	struct page_entry *entry;

	pthread_mutex_lock(&set->lock);
	entry = page_cache_find(set, key, page, false);
	if (entry) {
		entry->used = ++set->clock;
		result = entry->bad ? PAGE_BAD : PAGE_FOUND;
	}
	if (result == PAGE_FOUND)
		memcpy(out, page_cache_bytes(cache, set, entry) + offset, length);
	pthread_mutex_unlock(&set->lock);
	return result;
}

void page_cache_put(struct page_cache *cache, uint64_t key, uint64_t page, const void *bytes)
{
	struct page_set *set = page_cache_set(cache, key, page);
	struct page_entry *entry;

	pthread_mutex_lock(&set->lock);
	entry = page_cache_find(set, key, page, true);
	*entry = (struct page_entry){ .key = key, .page = page, .used = ++set->clock, .bad = !bytes };
	if (bytes)
		memcpy(page_cache_bytes(cache, set, entry), bytes, DSFS_BLOCK);
	pthread_mutex_unlock(&set->lock);
}
