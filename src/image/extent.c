/* SPDX-License-Identifier: MIT */
/* Maps (offset, size) of a file to the chunks that hold the bytes, and tells data from holes. */
#include "image/extent.h"

#include <errno.h>
#include <sys/stat.h>

#include "image/records.h"

void extent_map(struct extent_cursor *cursor, const struct index *index, const struct inode *inode, uint64_t offset,
		uint64_t size, uint64_t *ret_size)
{
	uint64_t left = offset < inode->size ? inode->size - offset : 0;

	if (size > left)
		size = left;
	*cursor = (struct extent_cursor){ .index = index, .inode = inode, .offset = offset, .end = offset + size };
	*ret_size = size;
}

int extent_next(struct extent_cursor *cursor, struct extent_piece *ret, struct error *err)
{
	uint64_t left = cursor->end - cursor->offset;
	struct extent_piece piece;
	int r;

	if (left == 0)
		return 0;
	r = chunk_get(cursor->index, cursor->inode, cursor->offset >> cursor->index->chunk_log, &piece.chunk, err);
	if (r < 0)
		return r;
	piece.skip = (uint32_t)(cursor->offset & ((UINT64_C(1) << cursor->index->chunk_log) - 1));
	piece.want = piece.chunk.length - piece.skip;
	if (piece.want > left)
		piece.want = (uint32_t)left;
	cursor->offset += piece.want;
	*ret = piece;
	return 1;
}

int64_t extent_seek(const struct index *index, const struct inode *inode, uint64_t offset, bool hole,
		    struct error *err)
{
	uint64_t count = inode_chunk_count(index, inode), run;
	struct chunk chunk;
	int r;

	if (offset >= inode->size)
		return error_set(err, -ENXIO, "offset is at or past the end");
	if (!inode->sparse)
		return (int64_t)(hole ? inode->size : offset);
	for (uint64_t i = offset >> index->chunk_log; i < count; i += run) {
		uint64_t start = i << index->chunk_log;

		r = chunk_get_run(index, inode, i, &chunk, &run, err);
		if (r < 0)
			return r;
		if (chunk_is_hole(&chunk) == hole)
			return (int64_t)(start > offset ? start : offset);
	}
	if (hole)
		return (int64_t)inode->size; /* the end of a file counts as a hole */
	return error_set(err, -ENXIO, "no data after the offset");
}

static uint64_t extent_hole_bytes(const struct index *index, const struct inode *inode)
{
	uint64_t bytes = 0;
	struct chunk chunk;

	if (inode->size > DSFS_SHARED_MAX)
		return records_hole_bytes(index, inode);
	for (uint64_t i = 0; i < inode_chunk_count(index, inode); i++)
		if (chunk_get(index, inode, i, &chunk, NULL) == 0 && chunk_is_hole(&chunk))
			bytes += chunk.length;
	return bytes;
}

/* Looks for holes, which are whole chunks, only in sparse files. */
uint64_t extent_blocks(const struct index *index, const struct inode *inode)
{
	uint64_t bytes = inode->size;

	if (!S_ISREG(inode->mode))
		return 0;
	if (inode->sparse)
		bytes -= extent_hole_bytes(index, inode);
	return (bytes + 511) / 512;
}
