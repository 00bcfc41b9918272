/* SPDX-License-Identifier: MIT */
/* Ranks files by their new addresses as the packer does by the first ones, but in memory: the index is there, too. */
#include "volume/compaction/rerank.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/program/interrupt.h"
#include "image/chunk.h"
#include "image/inode.h"
#include "image/places.h"

struct rerank_file {
	uint64_t by; /* an address, or a key */
	uint64_t ordinal;
};

struct rerank {
	const struct index *index;
	const struct relocate *chunks;
	uint64_t seed;
	struct rerank_file *files; /* those with an address, and from the end on the others */
	uint64_t placed, loose;    /* how many of them */
	bool is_moved;             /* an address is a new one */
};

static uint64_t rerank_address(struct rerank *rerank, const struct inode *inode)
{
	const struct index *index = rerank->index;
	uint64_t count = inode->size <= DSFS_SHARED_MAX ? inode_record_count(index, inode) : 0, address, to;

	address = places_address(inode->size, index->shape.chunk_sum, index_record(index, inode->where), count);
	to = address ? relocate_find(rerank->chunks, address, 1) : 0;
	rerank->is_moved |= to != 0;
	return to ? to : address;
}

/* Adds a file. There are no more than elements of the table: places_check() has counted. */
static void rerank_add(struct rerank *rerank, const struct inode *inode)
{
	uint64_t address = rerank_address(rerank, inode);
	uint64_t at = address ? rerank->placed++ : rerank->index->shape.places_count - ++rerank->loose;

	rerank->files[at] =
		(struct rerank_file){ address ? address : places_key(rerank->seed, inode->ordinal), inode->ordinal };
}

static int rerank_compare(const void *a, const void *b)
{
	const struct rerank_file *x = a, *y = b;

	if (x->by != y->by)
		return x->by < y->by ? -1 : 1;
	return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

static void rerank_merge(const struct rerank *rerank, dsfs_le32 *table)
{
	const struct rerank_file *placed = rerank->files, *loose = rerank->files + rerank->placed;
	uint64_t i = 0, n = 0;

	for (uint64_t l = 0; l < rerank->loose; l++) {
		for (; !places_is_before(loose[l].by, i, rerank->placed); i++)
			table[n++] = dsfs_le32_of((uint32_t)placed[i].ordinal);
		table[n++] = dsfs_le32_of((uint32_t)loose[l].ordinal);
	}
	for (; i < rerank->placed; i++)
		table[n++] = dsfs_le32_of((uint32_t)placed[i].ordinal);
}

static int rerank_collect(struct rerank *rerank, struct error *err)
{
	struct inode inode;
	int r = 0;

	for (uint64_t ordinal = INODE_ROOT; r == 0 && ordinal <= rerank->index->shape.inode_count; ordinal++) {
		r = inode_get(rerank->index, ordinal, &inode, err);
		if (r == 0 && S_ISREG(inode.mode))
			rerank_add(rerank, &inode);
		if (r == 0)
			r = interrupt_check(err);
	}
	return r;
}

int rerank_table(const struct index *index, const struct version *version, const struct relocate *chunks,
		 dsfs_le32 **ret, struct error *err)
{
	struct rerank rerank = { .index = index, .chunks = chunks, .seed = version->places_seed };
	uint64_t count = index->shape.places_count;
	auto_free struct rerank_file *files = NULL;
	int r;

	*ret = NULL;
	if (!places_has_table(index))
		return 0;
	rerank.files = files = calloc(count, sizeof(*files));
	r = files ? rerank_collect(&rerank, err) : error_no_memory(err);
	if (r < 0 || !rerank.is_moved)
		return r;
	*ret = malloc(count * sizeof(**ret));
	if (!*ret)
		return error_no_memory(err);
	qsort(files, rerank.placed, sizeof(*files), rerank_compare);
	qsort(files + rerank.placed, rerank.loose, sizeof(*files), rerank_compare);
	rerank_merge(&rerank, *ret);
	return 0;
}
