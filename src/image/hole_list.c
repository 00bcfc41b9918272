/* SPDX-License-Identifier: MIT */
/* Lists of long holes: decodes them with every bound checked, and searches them. */
#include "image/hole_list.h"

#include <errno.h>
#include <inttypes.h>

_Static_assert(sizeof(struct dsfs_hole) == sizeof(struct dsfs_chunk), "a hole lies among the chunk records");

/* Returns a head or a hole; NULL: there is no such record. */
static const struct dsfs_hole *hole_list_record(const struct index *index, uint64_t number)
{
	return (const struct dsfs_hole *)index_record(index, number);
}

bool hole_list_open(const struct index *index, uint64_t head, uint64_t chunks, struct hole_list *ret)
{
	const struct dsfs_hole *disk = hole_list_record(index, head), *last = NULL;

	*ret = (struct hole_list){ .first = head + 1, .count = disk ? dsfs_le64_get(disk->first) : 0 };
	if (ret->count && ret->count < index->shape.chunk_count)
		last = hole_list_record(index, head + ret->count);
	ret->chunks = last ? dsfs_le32_get(last->total) : 0;
	return last && ret->chunks <= chunks && chunks - ret->chunks <= head;
}

int hole_list_check(const struct index *index, const struct hole_list *list, uint64_t chunks, uint64_t ordinal,
		    struct error *err)
{
	uint64_t end = 0, before = 0;

	for (uint64_t i = 0; i <= list->count; i++) {
		const struct dsfs_hole *disk = hole_list_record(index, list->first - 1 + i); /* the head, then holes */
		uint64_t first = dsfs_le64_get(disk->first), total = dsfs_le32_get(disk->total);
		bool is_right = i == 0 || (total > before && (i == 1 || first > end) && first < chunks &&
					   total - before <= chunks - first);

		if (dsfs_le64_get(disk->address) != 0 || !is_right)
			return error_set(err, -EBADMSG,
					 "inode %" PRIu64 ": impossible hole %" PRIu64 " of %" PRIu64
					 ": address=%#" PRIx64
					 " first=%" PRIu64 " total=%" PRIu64 " after %" PRIu64 " and %" PRIu64,
					 ordinal, i, list->count, dsfs_le64_get(disk->address), first, total, end,
					 before);
		if (i == 0)
			continue;
		end = first + (total - before);
		before = total;
	}
	return 0;
}

static struct hole hole_list_get(const struct index *index, const struct hole_list *list, uint64_t i)
{
	const struct dsfs_hole *disk = hole_list_record(index, list->first + i);
	uint64_t before = i ? dsfs_le32_get(hole_list_record(index, list->first + i - 1)->total) : 0;

	return (struct hole){ list->first + i, dsfs_le64_get(disk->first), dsfs_le32_get(disk->total) - before,
			      before };
}

bool hole_list_find(const struct index *index, const struct hole_list *list, uint64_t chunk, struct hole *ret)
{
	uint64_t low = 0, high = list->count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (dsfs_le64_get(hole_list_record(index, list->first + middle)->first) <= chunk)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	*ret = hole_list_get(index, list, low - 1);
	return true;
}
