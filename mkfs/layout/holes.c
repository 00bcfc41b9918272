/* SPDX-License-Identifier: MIT */
/* Where a hole ends it is decided what it becomes, so that the bytes do not depend on how it was found: as one of the
 * file system's, as zeros that were read, or in an earlier version. */
#include "layout/holes.h"

#include "datasetfs/format.h"
#include "layout/sequence.h"
#include "layout/store.h"

void holes_begin(struct sequence *sequence)
{
	struct holes *holes = &sequence->holes;

	holes->first = sequence_chunk_count(sequence);
	holes->pending = holes->total = holes->list.length = 0;
}

void holes_add(struct sequence *sequence, uint64_t chunks)
{
	sequence->holes.pending += chunks;
}

static int holes_list(struct sequence *sequence, uint64_t chunks, struct error *err)
{
	struct holes *holes = &sequence->holes;
	uint64_t before = sequence_chunk_count(sequence) - holes->first + holes->total;
	struct dsfs_hole hole = { .first = le64_of(before) };

	if (!holes->list.length) { /* the head, as it is now */
		struct dsfs_hole head = { 0 };
		int r = mapped_append(&holes->list, &head, sizeof(head), NULL, err);

		if (r < 0)
			return r;
	}
	holes->total += chunks;
	holes->all += chunks;
	hole.total = le32_of((uint32_t)holes->total);
	return mapped_append(&holes->list, &hole, sizeof(hole), NULL, err);
}

int holes_flush(struct sequence *sequence, struct error *err)
{
	struct holes *holes = &sequence->holes;
	uint64_t chunks = holes->pending;
	int r = 0;

	holes->pending = 0;
	if (chunks >= HOLES_LONG && chunks <= DSFS_HOLES_MAX - holes->all)
		return holes_list(sequence, chunks, err);
	for (; r == 0 && chunks; chunks--)
		r = store_hole(sequence, err);
	return r;
}

int holes_end(struct sequence *sequence, uint64_t *ret_where, struct error *err)
{
	struct holes *holes = &sequence->holes;
	struct dsfs_hole *head;
	uint64_t at;
	int r = holes_flush(sequence, err);

	if (r < 0)
		return r;
	*ret_where = holes->first;
	if (!holes->list.length)
		return 0;
	head = (struct dsfs_hole *)holes->list.bytes;
	head->first = le64_of(holes->list.length / sizeof(*head) - 1);
	*ret_where = sequence_chunk_count(sequence) | DSFS_WHERE_HOLES;
	return mapped_append(&sequence->chunks, holes->list.bytes, holes->list.length, &at, err);
}
