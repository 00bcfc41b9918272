/* SPDX-License-Identifier: MIT */
/* Copies contents. Callers ask for files in the order in which they lie on the volume, so reads look ahead. */
#include "erofs/erofs_content.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/round.h"
#include "image/extent.h"
#include "image/members/address.h"

#define CONTENT_WINDOW ((uint64_t)1 << 18)
#define CONTENT_NEAR   ((uint64_t)1 << 16) /* a block at most this far after the window is read with a full window */

int erofs_content_open(struct source *source, const struct index *index, struct erofs_content *ret,
		       struct error *err)
{
	struct erofs_content content = { .backing = backing_of(source, &index->members), .index = index };

	content.window = aligned_alloc(DSFS_BLOCK, CONTENT_WINDOW);
	content.chunk = aligned_alloc(DSFS_BLOCK, (size_t)1 << DSFS_CHUNK_LOG_MAX);
	if (!content.window || !content.chunk) {
		erofs_content_close(&content);
		return error_no_memory(err);
	}
	*ret = content;
	return 0;
}

void erofs_content_close(struct erofs_content *content)
{
	free(content->window);
	free(content->chunk);
	*content = (struct erofs_content){ 0 };
}

/* Returns one block. Windows end at multiples of their size, as the columns of groups do, so no window crosses a
 * column. */
static int content_block(struct erofs_content *content, uint64_t address, const uint8_t **ret, struct error *err)
{
	uint64_t end = content->from + content->length;
	bool is_near = content->length && address >= end && address - end < CONTENT_NEAR;
	uint64_t size = content->index->member_sizes[address_member(address)] - address_offset(address);
	uint64_t length = is_near ? CONTENT_WINDOW - address % CONTENT_WINDOW : DSFS_BLOCK;
	int r;

	if (content->length && address >= content->from && address < end) {
		*ret = content->window + (address - content->from);
		return 0;
	}
	content->length = 0;
	length = length < size ? length : round_down(size, DSFS_BLOCK);
	if (!length)
		return error_set(err, -EBADMSG, "the last block of a file lies behind the end of its member");
	r = backing_read(content->backing, address, 0, content->window, length, err);
	if (r < 0)
		return r;
	content->from = address;
	content->length = length;
	*ret = content->window;
	return 0;
}

/* Copies block by block. */
static int content_read(struct erofs_content *content, uint64_t address, uint8_t *to, uint64_t length,
			struct error *err)
{
	const uint8_t *block = NULL;
	uint64_t skip, n;
	int r;

	while (length) {
		skip = address % DSFS_BLOCK;
		n = length < DSFS_BLOCK - skip ? length : DSFS_BLOCK - skip;
		r = content_block(content, address - skip, &block, err);
		if (r < 0)
			return r;
		memcpy(to, block + skip, n);
		address += n;
		to += n;
		length -= n;
	}
	return 0;
}

/* Reads the whole chunk, because its checksum covers all of it. */
static int content_read_chunk(struct erofs_content *content, const struct chunk *chunk, struct error *err)
{
	struct iovec whole = { content->chunk, chunk->length };
	int r = 0;

	if (chunk_is_inline(chunk))
		memcpy(content->chunk, chunk_inline_bytes(content->index, chunk), chunk->length);
	else
		r = content_read(content, chunk->address, content->chunk, chunk->length, err);
	return r < 0 ? r : chunk_verify(chunk, &whole, 1, err);
}

static int content_copy_piece(struct erofs_content *content, const struct extent_piece *piece,
			      struct erofs_sink *sink, struct error *err)
{
	int r;

	if (chunk_is_hole(&piece->chunk))
		return erofs_sink_put(sink, NULL, piece->want, err);
	r = content_read_chunk(content, &piece->chunk, err);
	return r < 0 ? r : erofs_sink_put(sink, content->chunk + piece->skip, piece->want, err);
}

int erofs_content_copy(struct erofs_content *content, const struct inode *inode, uint64_t offset, uint64_t length,
		       struct erofs_sink *sink, struct error *err)
{
	struct extent_cursor cursor;
	struct extent_piece piece;
	uint64_t size;
	int r;

	if (!erofs_sink_is_real(sink))
		return erofs_sink_put(sink, NULL, length, err);
	extent_map(&cursor, content->index, inode, offset, length, &size);
	while ((r = extent_next(&cursor, &piece, err)) > 0) {
		r = content_copy_piece(content, &piece, sink, err);
		if (r < 0)
			return r;
	}
	return r;
}
