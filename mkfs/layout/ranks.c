/* SPDX-License-Identifier: MIT */
/* Sorts files with an address by it, and the others by random keys; then merges the two, so that the others are spread
 * evenly. */
#include "layout/ranks.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/program/interrupt.h"
#include "base/round.h"
#include "image/places.h"
#include "spill/sorter.h"

#define RANKS_BUDGET (16u << 20) /* of each sorter */

/* A record of the sorters, which compare bytes; all is big-endian. */
struct ranks_file {
	uint64_t by; /* an address, or a key */
	uint32_t ordinal;
} __attribute__((packed));

struct ranks {
	struct records *records;
	uint64_t seed;
	struct sorter *placed, *loose; /* with and without an address */
	uint64_t placed_count, done;    /* done: how many of them are in the table */
};

static bool ranks_is_file(const struct records *records, const struct dsfs_inode *inode)
{
	const struct dsfs_class *classes = (const struct dsfs_class *)records->classes.list.bytes;

	return S_ISREG(dsfs_le32_get(classes[dsfs_le32_get(inode->class)].mode));
}

static uint64_t ranks_address(const struct records *records, const struct dsfs_inode *inode)
{
	uint64_t size = dsfs_le64_get(inode->size), first = dsfs_le64_get(inode->where) & ~DSFS_WHERE_SPARSE;
	uint32_t log = records->sums.chunk_log;

	if (!size || size > DSFS_SHARED_MAX)
		return 0;
	return places_address(size, records->sums.kind, records_chunk(records, first),
			      round_up(size, UINT64_C(1) << log) >> log);
}

static int ranks_sort(struct ranks *ranks, struct error *err)
{
	uint64_t count = ranks->records->inodes.length / sizeof(struct dsfs_inode), address;
	int r = 0;

	for (uint64_t ordinal = INODE_ROOT; r == 0 && ordinal <= count; ordinal++) {
		const struct dsfs_inode *inode = records_inode(ranks->records, ordinal);
		struct ranks_file file = { 0, htobe32((uint32_t)ordinal) };

		if (!ranks_is_file(ranks->records, inode))
			continue;
		address = ranks_address(ranks->records, inode);
		file.by = htobe64(address ? address : places_key(ranks->seed, ordinal));
		ranks->placed_count += address != 0;
		r = sorter_add(address ? ranks->placed : ranks->loose, &file, sizeof(file), NULL, 0, err);
		if (r == 0)
			r = interrupt_check(err);
	}
	return r;
}

/* Returns 1 and the next file of a sorter, or 0. */
static int ranks_next(struct sorter *sorter, struct ranks_file *ret, struct error *err)
{
	const void *bytes;
	size_t length;
	int r = sorter_next(sorter, &bytes, &length, err);

	if (r > 0)
		memcpy(ret, bytes, sizeof(*ret));
	return r;
}

static int ranks_put(struct ranks *ranks, const struct ranks_file *file, struct error *err)
{
	dsfs_le32 element = dsfs_le32_of(be32toh(file->ordinal));
	int r = mapped_append(&ranks->records->blob, &element, sizeof(element), NULL, err);

	return r < 0 ? r : interrupt_check(err);
}

/* Puts the placed files that come before a loose one with this key. */
static int ranks_put_placed(struct ranks *ranks, uint64_t key, struct error *err)
{
	struct ranks_file file;
	int r = 0;

	while (r == 0 && !places_is_before(key, ranks->done, ranks->placed_count)) {
		r = ranks_next(ranks->placed, &file, err);
		if (r > 0)
			r = ranks_put(ranks, &file, err);
		ranks->done++;
	}
	return r;
}

static int ranks_merge(struct ranks *ranks, struct error *err)
{
	struct ranks_file file;
	int r;

	while ((r = ranks_next(ranks->loose, &file, err)) > 0) {
		r = ranks_put_placed(ranks, be64toh(file.by), err);
		if (r == 0)
			r = ranks_put(ranks, &file, err);
		if (r < 0)
			return r;
	}
	while (r == 0 && (r = ranks_next(ranks->placed, &file, err)) > 0)
		r = ranks_put(ranks, &file, err);
	return r;
}

int ranks_add(struct records *records, uint64_t seed, const struct temp *temp, uint64_t *ret_at, struct error *err)
{
	struct ranks ranks = { .records = records, .seed = seed };
	uint64_t at = records->blob.length;
	int r = sorter_open(temp, RANKS_BUDGET, &ranks.placed, err);

	if (r == 0)
		r = sorter_open(temp, RANKS_BUDGET, &ranks.loose, err);
	if (r == 0)
		r = ranks_sort(&ranks, err);
	if (r == 0)
		r = sorter_rewind(ranks.placed, err);
	if (r == 0)
		r = sorter_rewind(ranks.loose, err);
	if (r == 0)
		r = ranks_merge(&ranks, err);
	sorter_free(ranks.placed);
	sorter_free(ranks.loose);
	if (r == 0)
		*ret_at = at;
	return r;
}
