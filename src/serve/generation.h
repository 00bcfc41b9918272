/* SPDX-License-Identifier: MIT */
/* One opened version, counted: by requests that use it and by the names that the kernel holds of it. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "image/index.h"
#include "image/inode.h"

/* Node numbers, which are st_ino: version sequence and ordinal; the root is 1 in every version. Sequence 0 is
 * .datasetfs (serve/inside.c). */
#define NODE_ROOT UINT64_C(1)

static inline uint64_t node_sequence(uint64_t nodeid)
{
	return nodeid >> DSFS_ORDINAL_BITS;
}

static inline uint64_t node_ordinal(uint64_t nodeid)
{
	return nodeid & ((UINT64_C(1) << DSFS_ORDINAL_BITS) - 1);
}

struct generation {
	const struct version *version; /* in the catalogue */
	uint64_t sequence;
	struct index *index;
	struct index_reader **readers; /* one per worker */
	unsigned reader_count;
	_Atomic uint64_t uses;    /* requests in work and the owner */
	_Atomic uint64_t lookups; /* entries given to the kernel and not forgotten */
};

/* Loads and checks the version's index; opens readers for so many workers. */
must_check int generation_open(struct source *source, const struct version *version, unsigned readers,
			       struct generation **ret, struct error *err);
static inline void generation_get(struct generation *generation)
{
	atomic_fetch_add_explicit(&generation->uses, 1, memory_order_relaxed);
}
/* Closes it with the last use. */
void generation_put(struct generation *generation);

static inline uint64_t generation_node(const struct generation *generation, uint64_t ordinal)
{
	return ordinal == INODE_ROOT ? NODE_ROOT : generation->sequence << DSFS_ORDINAL_BITS | ordinal;
}
