/* SPDX-License-Identifier: MIT */
/* Lists of long holes: decode with every bound checked, and the search. */
#include "image/hole_list.h"

#include <errno.h>
#include <inttypes.h>

_Static_assert(sizeof(struct dsfs_hole) == sizeof(struct dsfs_chunk), "a hole lies among the chunk records");

static const struct dsfs_hole *hole_list_record(const struct index *index, uint64_t number)
{
	if (number >= index->shape.chunk_count)
		return NULL;
	return span_at(index->chunks, number * sizeof(struct dsfs_hole), sizeof(struct dsfs_hole));
}

int hole_list_open(const struct index *index, struct inode *inode, struct error *err)
{
	uint64_t head = inode->where & ~DSFS_WHERE_HOLES, chunks = inode_chunk_count(index, inode), count = 0, total;
	const struct dsfs_hole *disk = hole_list_record(index, head), *last = NULL;

	if (disk)
		count = le64_get(disk->first);
	if (count && count < index->shape.chunk_count)
		last = hole_list_record(index, head + count);
	total = last ? le32_get(last->total) : 0;
	if (!last || !inode->sparse || inode->size <= DSFS_SHARED_MAX || inode->size > DSFS_FILE_MAX ||
	    total > chunks || chunks - total > head)
		return error_set(err, -EBADMSG,
				 "inode %" PRIu64 ": impossible list of %" PRIu64 " holes at %" PRIu64 ", size=%" PRIu64,
				 inode->ordinal, count, head, inode->size);
	inode->where = head - (chunks - total);
	inode->list = head + 1;
	inode->list_count = count;
	inode->list_chunks = total;
	return 0;
}

int hole_list_check(const struct index *index, const struct inode *inode, struct error *err)
{
	const struct dsfs_hole *list = hole_list_record(index, inode->list - 1); /* its head, then the holes */
	uint64_t chunks = inode_chunk_count(index, inode), end = 0, before = 0;

	for (uint64_t i = 0; i <= inode->list_count; i++) {
		uint64_t first = le64_get(list[i].first), total = le32_get(list[i].total);
		bool is_right = i == 0 || (total > before && (i == 1 || first > end) && first < chunks &&
					   total - before <= chunks - first);

		if (le64_get(list[i].address) != 0 || !is_right)
			return error_set(err, -EBADMSG,
					 "inode %" PRIu64 ": impossible hole %" PRIu64 " of %" PRIu64 ": address=%#" PRIx64
					 " first=%" PRIu64 " total=%" PRIu64 " after %" PRIu64 " and %" PRIu64,
					 inode->ordinal, i, inode->list_count, le64_get(list[i].address), first, total,
					 end, before);
		if (i == 0)
			continue;
		end = first + (total - before);
		before = total;
	}
	return 0;
}

static struct hole hole_list_get(const struct index *index, const struct inode *inode, uint64_t i)
{
	const struct dsfs_hole *list = (const struct dsfs_hole *)index->chunks.base + inode->list;
	uint64_t before = i ? le32_get(list[i - 1].total) : 0;

	return (struct hole){ inode->list + i, le64_get(list[i].first), le32_get(list[i].total) - before, before };
}

bool hole_list_find(const struct index *index, const struct inode *inode, uint64_t chunk, struct hole *ret)
{
	const struct dsfs_hole *list = (const struct dsfs_hole *)index->chunks.base + inode->list;
	uint64_t low = 0, high = inode->list_count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (le64_get(list[middle].first) <= chunk)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	*ret = hole_list_get(index, inode, low - 1);
	return true;
}
