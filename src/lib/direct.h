/* SPDX-License-Identifier: MIT */
/* The way past the mount: an opened version whose index and volume this process holds. */
#pragma once
#include <stdint.h>

#include "image/block_sums.h"
#include "image/index.h"
#include "io/file.h"
#include "lib/lib.h"

struct chunk_cache;
struct page_cache;

/* The volume, shared by the versions of a handle; counted. */
struct volume {
	_Atomic uint64_t uses;
	struct file_source *file;
	struct chunk_cache *cache;
	struct page_cache *pages;
};

struct direct {
	struct opened opened; /* the first member */
	struct index *index;
	struct block_sums *block_sums; /* NULL: it has none */
	struct volume *volume;
	uint64_t key; /* of this opening, for the caches */
};

extern const struct way direct_way;
