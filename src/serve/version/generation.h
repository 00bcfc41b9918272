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
#include "image/catalogue/block_sums.h"
#include "image/catalogue/version.h"
#include "image/index.h"
#include "image/inode.h"
#include "read/op.h"
#include "serve/version/nodeid.h"

#define GENERATION_GONE (UINT64_C(1) << 63) /* in `lookups`: the version is being closed, nobody can hold it */

/* Whether an opened version is still on the volume. In every state but the first its space may have been reused, and
 * reads fail like those of damaged content. */
enum generation_fate {
	GENERATION_THERE,
	GENERATION_REMOVED,
	GENERATION_MOVED,       /* compaction moved it, and the version has another sequence now */
	GENERATION_REFORMATTED, /* the whole volume was reformatted */
};

/* When names of a version that the mount left are pruned, see prune_settle(): ns, monotonic. Control thread only. */
struct generation_pruning {
	int64_t at, delay;
	int64_t began; /* 0: none is under way, or it was cancelled */
};

struct generation {
	struct version version; /* a copy, without most of its lists */
	uint64_t sequence;
	uint64_t key; /* unique for each opening; a sequence is reused when a publish is undone */
	struct index *index;
	struct block_sums *block_sums; /* NULL: the version has none, or they are damaged */
	struct names_reader **readers; /* one per worker */
	unsigned reader_count;
	uint32_t hidden_mode; /* mode bits the mount hides, also of directories: in a copy they would take effect */
	_Atomic uint64_t uses;    /* requests in progress, plus one for the owner */
	_Atomic uint64_t lookups; /* entries given to the kernel and not yet forgotten */
	_Atomic(enum generation_fate) fate; /* as of the catalogue read last, see generations_compare() */
	_Atomic bool maybe_stale; /* a read of the version failed; see control/stale.c */
	enum generation_fate told; /* the fate that was last handled; control thread only */
	bool has_visitor;         /* the version was opened for a visitor who may not switch the mount */
	uint32_t visitor;         /* uid of that visitor; both constant once the version is in the table */
	int64_t looked_at;        /* when the volume was last searched for it, ns, monotonic; control thread only */
	_Atomic bool has_absences; /* the kernel may remember that a name below the root does not exist */
	_Atomic bool visited;      /* the kernel knows nodes of the version below .datasetfs/versions */
	_Atomic bool root_pruned;   /* names in the root were pruned since the mount left the version */
	struct generation_pruning pruning;
};

/* Whether the generation is this version. The sequence alone is not enough: an undone publish frees it for reuse. */
static inline bool generation_is(const struct generation *generation, const struct version *version)
{
	return generation->sequence == version->sequence &&
	       !memcmp(generation->version.uuid, version->uuid, sizeof(version->uuid));
}

/* Sets a flag that all workers read. It stores only if the flag is not set yet, to leave the cache line shared. */
static inline void generation_note(_Atomic bool *flag)
{
	if (!atomic_load_explicit(flag, memory_order_relaxed))
		atomic_store(flag, true);
}

/* Opens a version for `readers` workers: loads and checks its index and the head of its block checksums. Damaged block
 * checksums do not fail the opening. The caller owns one use of *ret. */
must_check int generation_open(struct source *source, const struct version *version, const struct members *members,
			       unsigned readers, struct generation **ret, struct error *err);
/* Takes a use. */
static inline void generation_get(struct generation *generation)
{
	atomic_fetch_add_explicit(&generation->uses, 1, memory_order_relaxed);
}
/* Gives up a use; the last one closes the version. NULL is allowed. */
void generation_put(struct generation *generation);

/* The version in the form that read/ takes. */
static inline struct read_version generation_read(const struct generation *generation)
{
	return (struct read_version){ generation->index, generation->block_sums, generation->key };
}

/* The st_ino of an inode. It is also the node number, except for directories below .datasetfs/versions. */
static inline uint64_t generation_node(const struct generation *generation, uint64_t ordinal)
{
	return ordinal == INODE_ROOT ? NODE_ROOT : generation->sequence << DSFS_ORDINAL_BITS | ordinal;
}

/* The node number of an entry of the directory with node `parent`. A file has the same node in the mount and below
 * .datasetfs/versions, so the kernel caches its content once. */
static inline uint64_t generation_node_below(const struct generation *generation, uint64_t parent,
					     const struct inode *inode)
{
	return generation_node(generation, inode->ordinal) | (S_ISDIR(inode->mode) ? parent & NODE_SIDE : 0);
}

/* The node number of the version's root as a directory in .datasetfs/versions. */
static inline uint64_t generation_side_root(const struct generation *generation)
{
	return NODE_SIDE | generation->sequence << DSFS_ORDINAL_BITS | INODE_ROOT;
}
