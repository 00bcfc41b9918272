/* SPDX-License-Identifier: MIT */
/* Selects which stored chunks of a version to read, in the order of the volume, one bounded window at a time. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/lowest.h"
#include "image/catalogue/block_sums.h"
#include "image/index.h"
#include "image/members/extent_list.h"
#include "verify/damage.h"
#include "verify/item.h"

/* A part of all chunks: a shard, or a sample of one. Shards are cut by address, so neighbouring chunks stay together,
 * and a chunk that files share belongs to one shard. */
struct selection_share {
	uint32_t shard, shard_count; /* shard 0..shard_count - 1 */
	double sample;               /* 0 < sample <= 1 */
	uint64_t seed;
};

/* Sums over all inodes, known after the first window. */
struct selection_counts {
	uint64_t files, directories, symlinks;
	uint64_t content_bytes;
	uint64_t holes;    /* chunks of zeros, not stored */
	uint64_t selected; /* (file, chunk) pairs in the share */
};

struct selection_setup {
	const struct index *index;
	const struct block_sums *block_sums;  /* NULL: none */
	const struct extent_list *segments;   /* of the version, ascending */
	const struct selection_share *share;
	struct damage_list *damage;           /* gets malformed records */
};

struct selection {
	struct selection_setup setup;
	struct selection_counts counts;
	struct lowest window; /* of struct item: 40 MiB at least, and as much while they are gathered */
	struct item last;     /* last item of the previous window; the next window begins after it */
	bool has_last;
};

/* Opens a selection. The caller keeps everything that the setup points to. */
must_check int selection_open(const struct selection_setup *setup, struct selection *ret, struct error *err);
/* Makes the next window: 1, or 0 at the end. */
must_check int selection_next(struct selection *selection, struct error *err);
void selection_close(struct selection *selection); /* frees its contents only */
