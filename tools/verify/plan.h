/* SPDX-License-Identifier: MIT */
/* Which stored chunks of a version to read, in the order of the volume, one bounded window at a time. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/block_sums.h"
#include "image/catalogue.h"
#include "image/index.h"
#include "verify/damage.h"
#include "verify/item.h"

/* A part of all chunks. Shares are cut by address, so chunks that lie together belong together and a chunk
 * that files share belongs to one shard. */
struct plan_share {
	uint32_t shard, shard_count; /* shard 0..shard_count - 1 */
	double sample;               /* 0 < sample <= 1 */
	uint64_t seed;
};

/* What the inodes add up to, known after the first window. */
struct plan_counts {
	uint64_t files, directories, symlinks;
	uint64_t content_bytes;
	uint64_t holes;    /* chunks of zeros, not stored */
	uint64_t selected; /* (file, chunk) pairs in the share */
};

struct plan {
	const struct index *index;
	const struct block_sums *block_sums; /* NULL: none */
	struct extent_list segments; /* the version's, ascending */
	struct plan_share share;
	struct damage_list *damage; /* gets records that are wrong in themselves */
	struct plan_counts counts;
	size_t window;      /* items of one at most */
	struct item *items; /* the window; twice as many are gathered before the highest are dropped */
	size_t count;
	struct item last;  /* the last of the window before; windows are handed out behind it */
	struct item limit; /* items behind it were dropped for a later window */
	bool has_last, has_limit;
};

#define PLAN_WINDOW ((size_t)512 << 10) /* items: 40 MiB, and as much while they are gathered */
#define PLAN_PASSES 8u                  /* over the index at most, as each window costs one */

/* Items of a window, for a version with so many chunk records: of a large one a share of them, which takes as much
 * memory as its index does. */
static inline size_t plan_window(uint64_t chunk_count)
{
	uint64_t share = chunk_count / PLAN_PASSES + 1;

	return share > PLAN_WINDOW ? share : PLAN_WINDOW;
}

must_check int plan_open(const struct index *index, const struct block_sums *block_sums, const struct version *version,
			 const struct plan_share *share, struct damage_list *damage, struct plan *ret,
			 struct error *err);
/* 1 and a window in items[0..count), 0 when all was handed out. */
must_check int plan_next(struct plan *plan, struct error *err);
void plan_close(struct plan *plan); /* its contents */
