/* SPDX-License-Identifier: MIT */
/* One opened version, with counts of the requests that use it and of the names that the kernel holds. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/source.h"
#include "image/block_sums.h"
#include "image/index.h"
#include "image/inode.h"
#include "image/version.h"
#include "read/op.h"
#include "serve/version/nodeid.h"

#define GENERATION_GONE (UINT64_C(1) << 63) /* in lookups: nothing keeps it any more, and nothing can */

/* What the volume has become of it. In all but the first its space may be used again: its reads then fail like those of
 * damaged content. */
enum generation_fate {
	GENERATION_THERE,
	GENERATION_REMOVED,
	GENERATION_MOVED,       /* by compaction: the same version has another sequence */
	GENERATION_REFORMATTED, /* the volume is another one */
};

struct generation {
	struct version version; /* a copy, without most of its lists */
	uint64_t sequence;
	uint64_t key; /* of this opening: a sequence is used again when a publish is undone */
	struct index *index;
	struct block_sums *block_sums; /* NULL: it has no block checksums, or damaged ones */
	struct names_reader **readers; /* one per worker */
	unsigned reader_count;
	uint32_t hidden_mode; /* bits of modes that the mount does not show; of directories too: they count in a copy */
	_Atomic uint64_t uses;    /* requests in work and the owner */
	_Atomic uint64_t lookups; /* entries given to the kernel and not forgotten */
	_Atomic(enum generation_fate) fate; /* by the catalogue that was read last; see generations_compare() */
	_Atomic bool maybe_stale; /* a read of it failed; see control/stale.c */
	enum generation_fate told; /* the control thread's: the fate that it has dealt with */
	bool is_visited;          /* opened for a visitor who may not switch the mount, */
	uint32_t visitor;         /* this user; both constant once it is in the table */
	int64_t looked_at;        /* the control thread's: when it was last looked for on the volume; ns, monotonic */
	_Atomic bool has_absences; /* the kernel may remember that a name below the root does not exist */
	_Atomic bool visited;      /* it knows nodes of it below .datasetfs/versions */
	_Atomic bool root_pruned;   /* since it was left: names of the root are forgotten */
	/* the control thread's, see prune_settle(); ns, monotonic: */
	int64_t prune_at, prune_delay;
	int64_t prune_began; /* 0: none that was not cancelled is under way */
};

/* Whether it is this version: the number of one that was undone on the volume is given again. */
static inline bool generation_is(const struct generation *generation, const struct version *version)
{
	return generation->sequence == version->sequence &&
	       !memcmp(generation->version.uuid, version->uuid, sizeof(version->uuid));
}

/* For flags that are raised once and looked at by all workers: no store when it is raised. */
static inline void generation_note(_Atomic bool *flag)
{
	if (!atomic_load_explicit(flag, memory_order_relaxed))
		atomic_store(flag, true);
}

/* Loads and checks the version's index, and the head of its block checksums: without them it is opened all the same.
 * Opens readers for so many workers. */
must_check int generation_open(struct source *source, const struct version *version, const struct members *members,
			       unsigned readers, struct generation **ret, struct error *err);
static inline void generation_get(struct generation *generation)
{
	atomic_fetch_add_explicit(&generation->uses, 1, memory_order_relaxed);
}
/* Closes it with the last use. */
void generation_put(struct generation *generation);

static inline struct read_version generation_read(const struct generation *generation)
{
	return (struct read_version){ generation->index, generation->block_sums, generation->key };
}

/* st_ino; the node too, but for directories below .datasetfs/versions. */
static inline uint64_t generation_node(const struct generation *generation, uint64_t ordinal)
{
	return ordinal == INODE_ROOT ? NODE_ROOT : generation->sequence << DSFS_ORDINAL_BITS | ordinal;
}

/* The node of what is found below a directory with node parent. Files are the same ones everywhere, and so are their
 * cached contents. */
static inline uint64_t generation_node_below(const struct generation *generation, uint64_t parent,
					     const struct inode *inode)
{
	return generation_node(generation, inode->ordinal) | (S_ISDIR(inode->mode) ? parent & NODE_SIDE : 0);
}

/* The root as a directory below .datasetfs/versions. */
static inline uint64_t generation_side_root(const struct generation *generation)
{
	return NODE_SIDE | generation->sequence << DSFS_ORDINAL_BITS | INODE_ROOT;
}
