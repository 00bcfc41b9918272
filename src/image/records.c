/* SPDX-License-Identifier: MIT */
/* One pass over all inodes that decodes only the large files, and checks their chunk records. */
#include "image/records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "image/chunk.h"
#include "image/inode.h"

/* Returns 1 and the next file of more than DSFS_SHARED_MAX bytes from *ordinal, which moves past it; 0: no more. */
static int records_next(const struct index *index, uint64_t *ordinal, struct inode *ret, struct error *err)
{
	const struct dsfs_inode *inodes = (const struct dsfs_inode *)index->inodes.base;
	int r;

	while (*ordinal <= index->shape.inode_count) {
		uint64_t at = (*ordinal)++;

		if (dsfs_le64_get(inodes[at - 1].size) <= DSFS_SHARED_MAX)
			continue;
		r = inode_get(index, at, ret, err);
		if (r < 0)
			return r;
		if (S_ISREG(ret->mode))
			return 1;
	}
	return 0;
}

/* Bounds the chunks that a small index may stand for, because a dump has a line for each chunk. */
static int records_check_list(const struct index *index, const struct inode *inode, uint64_t *holes, struct error *err)
{
	int r = hole_list_check(index, &inode->holes, inode_chunk_count(index, inode), inode->ordinal, err);

	if (r < 0)
		return r;
	*holes += inode->holes.chunks;
	if (*holes > DSFS_HOLES_MAX)
		return error_set(err, -EBADMSG,
				 "inode %" PRIu64 ": %" PRIu64 " chunks in long holes up to here, expected at most %u",
				 inode->ordinal, *holes, DSFS_HOLES_MAX);
	return 0;
}

int records_check(const struct index *index, struct error *err)
{
	uint64_t ordinal = INODE_ROOT, end = 0, holes = 0;
	struct inode inode;
	int r;

	while ((r = records_next(index, &ordinal, &inode, err)) > 0) {
		if (inode.where < end)
			return error_set(err, -EBADMSG,
					 "inode %" PRIu64 ": its chunks begin at %" PRIu64
					 ", those of large files before it end at %" PRIu64,
					 inode.ordinal, inode.where, end);
		if (inode.holes.count) {
			r = records_check_list(index, &inode, &holes, err);
			if (r < 0)
				return r;
		}
		end = inode.holes.count ? inode.holes.first + inode.holes.count :
					 inode.where + inode_chunk_count(index, &inode);
	}
	return r;
}

/* Counts holes as whole chunks; the last one may be short. */
static uint64_t records_measure_file(const struct index *index, const struct inode *inode)
{
	uint64_t count = inode_chunk_count(index, inode), holes = inode->holes.chunks, bytes;
	struct chunk last;

	for (uint64_t i = 0; i < inode_record_count(index, inode); i++)
		holes += dsfs_le64_get(index_record(index, inode->where + i)->address) == 0;
	bytes = holes << index->chunk_log;
	if (chunk_get(index, inode, count - 1, &last, NULL) == 0 && chunk_is_hole(&last))
		bytes -= (count << index->chunk_log) - inode->size;
	return bytes;
}

int records_measure(struct index *index, struct error *err)
{
	uint64_t ordinal = INODE_ROOT;
	size_t room = 0;
	struct inode inode;
	int r;

	while ((r = records_next(index, &ordinal, &inode, err)) > 0) {
		if (!inode.sparse)
			continue;
		r = grow(index->sparse, room, index->sparse_count + 1, err);
		if (r < 0)
			return r;
		index->sparse[index->sparse_count++] =
			(struct index_sparse){ inode.ordinal, records_measure_file(index, &inode) };
	}
	index->is_measured = r == 0;
	return r;
}

static int records_compare(const void *key, const void *item)
{
	uint64_t ordinal = *(const uint64_t *)key, other = ((const struct index_sparse *)item)->ordinal;

	return ordinal < other ? -1 : ordinal > other;
}

uint64_t records_hole_bytes(const struct index *index, const struct inode *inode)
{
	const struct index_sparse *found = NULL;

	if (!index->is_measured)
		return inode->sparse ? records_measure_file(index, inode) : 0;
	if (index->sparse_count)
		found = bsearch(&inode->ordinal, index->sparse, index->sparse_count, sizeof(*found), records_compare);
	return found ? found->hole_bytes : 0;
}
