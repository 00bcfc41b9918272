/* SPDX-License-Identifier: MIT */
/* What a hole becomes is decided at its end, so that the bytes do not depend on how it was found: reported by the
 * filesystem, read as zeros, or copied from an older version. */
#include "layout/holes.h"

int holes_open(struct holes *holes, struct records *records, const struct temp *temp, struct error *err)
{
	*holes = (struct holes){ .records = records };
	return mapped_open(&holes->list, temp, err);
}

void holes_close(struct holes *holes)
{
	mapped_close(&holes->list);
}

void holes_begin(struct holes *holes)
{
	holes->first = records_chunk_count(holes->records);
	holes->pending = holes->total = holes->list.length = 0;
}

void holes_add(struct holes *holes, uint64_t chunks)
{
	holes->pending += chunks;
}

static int holes_list(struct holes *holes, uint64_t chunks, struct error *err)
{
	uint64_t before = records_chunk_count(holes->records) - holes->first + holes->total;
	struct dsfs_hole hole = { .first = dsfs_le64_of(before) };

	if (!holes->list.length) { /* room for the head */
		struct dsfs_hole head = { 0 };
		int r = mapped_append(&holes->list, &head, sizeof(head), NULL, err);

		if (r < 0)
			return r;
	}
	holes->total += chunks;
	holes->all += chunks;
	hole.total = dsfs_le32_of((uint32_t)holes->total);
	return mapped_append(&holes->list, &hole, sizeof(hole), NULL, err);
}

int holes_flush(struct holes *holes, struct error *err)
{
	uint64_t chunks = holes->pending;
	int r = 0;

	holes->pending = 0;
	if (chunks >= HOLES_LONG && chunks <= DSFS_HOLES_MAX - holes->all)
		return holes_list(holes, chunks, err);
	for (; r == 0 && chunks; chunks--)
		r = records_add_hole(holes->records, err);
	return r;
}

int holes_end(struct holes *holes, uint64_t *ret_where, struct error *err)
{
	struct dsfs_hole *head;
	uint64_t at;
	int r = holes_flush(holes, err);

	if (r < 0)
		return r;
	*ret_where = holes->first;
	if (!holes->list.length)
		return 0;
	head = (struct dsfs_hole *)holes->list.bytes;
	head->first = dsfs_le64_of(holes->list.length / sizeof(*head) - 1);
	*ret_where = records_chunk_count(holes->records) | DSFS_WHERE_HOLES;
	return mapped_append(&holes->records->chunks, holes->list.bytes, holes->list.length, &at, err);
}
