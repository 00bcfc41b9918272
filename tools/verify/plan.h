/* SPDX-License-Identifier: MIT */
/* Plans which stored chunks of a version to read, in the order of the volume, one bounded window at a time. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/catalogue/block_sums.h"
#include "image/catalogue/catalogue.h"
#include "image/index.h"
#include "verify/damage.h"
#include "verify/item.h"

/* A part of all chunks: a shard, or a sample of one. Shards are cut by address, so neighbouring chunks stay together,
 * and a chunk that files share belongs to one shard. */
struct plan_share {
	uint32_t shard, shard_count; /* shard 0..shard_count - 1 */
	double sample;               /* 0 < sample <= 1 */
	uint64_t seed;
};

/* Sums over all inodes, known after the first window. */
struct plan_counts {
	uint64_t files, directories, symlinks;
	uint64_t content_bytes;
	uint64_t holes;    /* chunks of zeros, not stored */
	uint64_t selected; /* (file, chunk) pairs in the share */
};

struct plan {
	const struct index *index;
	const struct block_sums *block_sums; /* NULL: none */
	struct extent_list segments; /* of the version, ascending */
	struct plan_share share;
	struct damage_list *damage; /* gets malformed records */
	struct plan_counts counts;
	size_t window;      /* most items of a window */
	struct item *items; /* the window; twice as many are gathered before the highest are dropped */
	size_t count;
	struct item last;  /* last item of the previous window; the next window begins after it */
	struct item limit; /* items after it were dropped for a later window */
	bool has_last, has_limit;
};

#define PLAN_WINDOW ((size_t)512 << 10) /* items: 40 MiB, and as much while they are gathered */
#define PLAN_PASSES 8u                  /* most passes over the index, as each window costs one */

/* Returns the items of a window for a version with this many chunk records: for a large version a share of them, which
 * takes as much memory as its index does. */
static inline size_t plan_window(uint64_t chunk_count)
{
	uint64_t share = chunk_count / PLAN_PASSES + 1;

	return share > PLAN_WINDOW ? share : PLAN_WINDOW;
}

must_check int plan_open(const struct index *index, const struct block_sums *block_sums, const struct version *version,
			 const struct plan_share *share, struct damage_list *damage, struct plan *ret,
			 struct error *err);
/* Makes the next window: returns 1 and items[0..count), or 0 at the end. */
must_check int plan_next(struct plan *plan, struct error *err);
void plan_close(struct plan *plan); /* its contents */
