/* SPDX-License-Identifier: MIT */
/* Decides at the end of a hole how to store it, so that the bytes do not depend on how it was found: reported by the
 * filesystem, read as zeros, or copied from an older version. */
#include "layout/holes.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/format.h"

int holes_open(struct holes *holes, struct records *records, const struct temp *temp, uint32_t chunk_log,
	       struct error *err)
{
	*holes = (struct holes){ .records = records, .chunk_log = chunk_log };
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

static int holes_refuse(const struct holes *holes, const struct item *item, struct error *err)
{
	auto_free char *path = dirfd_join(item->dir->path, item->name);
	char chunk[SIZE_TEXT_SIZE], most[SIZE_TEXT_SIZE];

	return error_set(err, -EFBIG, "'%s' has longer holes than a version can hold, %s with chunks of %s: "
			 "leave it out, or use a larger --chunk-size", path ? path : item->name,
			 format_size((uint64_t)DSFS_HOLES_MAX << holes->chunk_log, most),
			 format_size(UINT64_C(1) << holes->chunk_log, chunk));
}

/* Refuses holes beyond the limit: as records they would take 20 bytes for each chunk, without end. */
int holes_add(struct holes *holes, const struct item *item, uint64_t chunks, struct error *err)
{
	holes->pending += chunks;
	if (holes->pending >= HOLES_LONG && holes->pending > DSFS_HOLES_MAX - holes->all)
		return holes_refuse(holes, item, err);
	return 0;
}

/* Appends a hole, or the head, to the list, as long as the chunk records. */
static int holes_append(struct holes *holes, const struct dsfs_hole *hole, struct error *err)
{
	struct dsfs_chunk_sha256 record = { 0 };

	memcpy(&record, hole, sizeof(*hole));
	return mapped_append(&holes->list, &record, index_record_size(holes->records->sums.kind), NULL, err);
}

static int holes_list(struct holes *holes, uint64_t chunks, struct error *err)
{
	uint64_t before = records_chunk_count(holes->records) - holes->first + holes->total;
	struct dsfs_hole hole = { .first = dsfs_le64_of(before) };

	if (!holes->list.length) { /* room for the head */
		struct dsfs_hole head = { 0 };
		int r = holes_append(holes, &head, err);

		if (r < 0)
			return r;
	}
	holes->total += chunks;
	holes->all += chunks;
	hole.total = dsfs_le32_of((uint32_t)holes->total);
	return holes_append(holes, &hole, err);
}

int holes_flush(struct holes *holes, struct error *err)
{
	uint64_t chunks = holes->pending;
	int r = 0;

	holes->pending = 0;
	if (chunks >= HOLES_LONG)
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
	head->first = dsfs_le64_of(holes->list.length / index_record_size(holes->records->sums.kind) - 1);
	*ret_where = records_chunk_count(holes->records) | DSFS_WHERE_HOLES;
	return mapped_append(&holes->records->chunks, holes->list.bytes, holes->list.length, &at, err);
}
