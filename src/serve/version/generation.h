/* SPDX-License-Identifier: MIT */
/* One opened version, with counts of the requests that use it and of the names that the kernel holds. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "image/inode.h"
#include "opened/opened_version.h"
#include "read/op.h"
#include "serve/version/nodeid.h"
#include "trust/trust.h"

/* In `lookups`: the version is being closed, it cannot be held any more. */
#define GENERATION_GONE (UINT64_C(1) << 63)
/* In `lookups`: the kernel may know more names than are counted, because another process gave them out. The count then
 * only grows, and control/search.h finds out when the kernel knows none. */
#define GENERATION_UNKNOWN (UINT64_C(1) << 62)

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
	struct opened_version opened;
	uint64_t sequence;
	uint64_t key; /* unique for each opening; a sequence is reused when a publish is undone */
	struct trust_signer signer; /* who signed it, if the mount has trust= */
	int record;               /* the file by which other processes open the version, see opened_version_record() */
	_Atomic uint64_t uses;    /* requests in progress, plus one for the owner */
	_Atomic uint64_t lookups; /* entries given to the kernel and not yet forgotten, plus one for each pin */
	_Atomic uint64_t pins;    /* lookups of our own threads, see generations_pin() */
	_Atomic uint64_t searched; /* the value of `lookups` at which the kernel knew no node; 0: it was never found */
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
	uint64_t known; /* ordinal of the node that a search last found known, or 0; prune's thread only */
};

/* Whether the generation is this version. The sequence alone is not enough: an undone publish frees it for reuse. */
static inline bool generation_is(const struct generation *generation, const struct version *version)
{
	return generation->sequence == version->sequence &&
	       !memcmp(generation->opened.version.uuid, version->uuid, sizeof(version->uuid));
}

/* Sets a flag that all workers read. It stores only if the flag is not set yet, to leave the cache line shared. */
static inline void generation_note(_Atomic bool *flag)
{
	if (!atomic_load_explicit(flag, memory_order_relaxed))
		atomic_store(flag, true);
}

/* Makes a generation of an opened version, and writes its record. Takes the contents of *opened on success. The caller
 * owns one use of *ret. */
must_check int generation_open(struct opened_version *opened, struct generation **ret, struct error *err);
/* Opens a version from its record and its index, see opened_version_receive(). Takes both descriptors on success, and
 * may take the index's on failure. The version has the key that it had, and later openings get greater ones. The caller
 * sets the visitor and the signer. How many names of it the kernel holds is unknown. */
must_check int generation_adopt(int *record_fd, int *index_fd, uint64_t key, struct generation **ret,
				struct error *err);
/* Makes the keys of later openings greater than this one. Any thread may call this. */
void generation_continue(uint64_t key);
/* Returns how many names are counted; of an adopted version only those that this process gave out. */
static inline uint64_t generation_lookups(const struct generation *generation)
{
	return atomic_load(&generation->lookups) & ~(GENERATION_GONE | GENERATION_UNKNOWN);
}
/* Whether the kernel knows more names than are counted. */
static inline bool generation_is_unknown(const struct generation *generation)
{
	return atomic_load(&generation->lookups) & GENERATION_UNKNOWN;
}
/* Whether the kernel knows no name: the count is 0, or a search found nothing and no name was given out since it
 * began. */
static inline bool generation_is_forgotten(const struct generation *generation)
{
	uint64_t lookups = atomic_load(&generation->lookups);

	return !lookups || (lookups & GENERATION_UNKNOWN && lookups == atomic_load(&generation->searched));
}

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
	return (struct read_version){ generation->opened.index, generation->opened.block_sums, generation->key };
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
