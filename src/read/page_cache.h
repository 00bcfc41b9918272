/* SPDX-License-Identifier: MIT */
/* Pages of block checksums that were read and verified, or found damaged. Shared by all workers. */
#pragma once
#include <stdint.h>

#include "base/error.h"

#define PAGE_CACHE_SIZE (UINT64_C(32) << 20)

struct page_cache;

/* Reserves PAGE_CACHE_SIZE of address space; memory is taken when it is first used. */
must_check int page_cache_new(struct page_cache **ret, struct error *err);
void page_cache_free(struct page_cache *cache);

enum page_cached {
	PAGE_ABSENT,
	PAGE_FOUND, /* copied */
	PAGE_BAD    /* it was read and found damaged: not worth another read for now */
};

/* Copies length bytes at offset of a page of the version with this key, if the page is cached. */
must_check enum page_cached page_cache_get(struct page_cache *cache, uint64_t key, uint64_t page, uint32_t offset,
					   uint32_t length, void *out);
/* Stores a copy of the page; bytes NULL: the page is bad. */
void page_cache_put(struct page_cache *cache, uint64_t key, uint64_t page, const void *bytes);
