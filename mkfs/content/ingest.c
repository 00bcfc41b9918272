/* SPDX-License-Identifier: MIT */
/* Does a batch's work in a thread of the pipeline, which has a struct ingest of its own. */
#include "content/ingest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/program/interrupt.h"
#include "base/transfer.h"
#include "content/key.h"
#include "image/codec.h"

#define READER_OPEN (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

struct ingest {
	struct ingest_setup setup;
	struct codec *codec;
	struct dedup_view *view; /* NULL on a new volume */
};

void *ingest_new(const void *setup)
{
	struct ingest *ingest = calloc(1, sizeof(*ingest));

	if (!ingest)
		return NULL;
	ingest->setup = *(const struct ingest_setup *)setup;
	ingest->codec = codec_new();
	if (ingest->setup.dedup)
		ingest->view = dedup_view_new(ingest->setup.dedup);
	if (ingest->codec && (ingest->view || !ingest->setup.dedup)) {
		codec_set_level(ingest->codec, ingest->setup.level);
		return ingest;
	}
	ingest_free(ingest);
	return NULL;
}

void ingest_free(void *argument)
{
	struct ingest *ingest = argument;

	codec_free(ingest->codec);
	dedup_view_free(ingest->view);
	free(ingest);
}

/* Sets an error that names the item. */
static int ingest_failed(const struct item *item, int code, const char *reason, struct error *err)
{
	auto_free char *path = dirfd_join(item->dir->path, item->name);
	const char *name = path && *path ? path : ".";

	if (code == -ENOENT)
		return error_set(err, code, "'%s' vanished while being packed", name);
	return error_set(err, code, "'%s': %s", name, reason);
}

static int ingest_changed(const struct item *item, struct error *err)
{
	return ingest_failed(item, -ESTALE, "changed while being packed", err);
}

/* Checks, after the bytes were read, that the file is still the one that the scan saw. */
static int ingest_check(const struct item *item, int fd, struct error *err)
{
	struct attributes now;
	int r = attributes_read(fd, "", &now);

	if (r < 0)
		return ingest_failed(item, r, strerror(-r), err);
	return attributes_are_same(&now, &item->attributes) ? 0 : ingest_changed(item, err);
}

/* Checks the name before it is opened, because opening a FIFO or a device that replaced the file would have side
 * effects. If one replaces the file in the microseconds before the open, the open does not block, and the first read
 * notices it. */
static int ingest_look(const struct item *item, struct error *err)
{
	struct attributes now;
	struct error why = { 0 };
	int r = dirfd_stat(item->dir, item->name, &now, &why);

	if (r < 0)
		return ingest_failed(item, r, why.reason, err);
	return attributes_are_same(&now, &item->attributes) ? 0 : ingest_changed(item, err);
}

int ingest_open(const struct item *item, int *ret_fd, struct error *err)
{
	int fd, r;

	r = ingest_look(item, err);
	if (r < 0)
		return r;
	fd = dirfd_open_entry(item->dir, item->name, &item->attributes, READER_OPEN);
	if (fd < 0) {
		r = ingest_look(item, err);
		return r < 0 ? r : ingest_failed(item, fd, strerror(-fd), err);
	}
	*ret_fd = fd;
	return 0;
}

/* Finds out why a read failed: either the file was changed, or the caller's reason holds. */
static int ingest_read_failed(const struct item *item, int fd, int code, const char *reason, struct error *err)
{
	int r = ingest_check(item, fd, err);

	return r < 0 ? r : ingest_failed(item, code, reason, err);
}

static int ingest_read(struct item *item, int fd, uint64_t from, uint64_t to, struct error *err)
{
	ssize_t n = transfer_read_at(fd, item->content + (from - item->offset), to - from, from);

	if (n < 0)
		return ingest_read_failed(item, fd, -errno, strerror(errno), err);
	item->result.read_bytes += (uint64_t)n;
	return (uint64_t)n < to - from ? ingest_changed(item, err) : 0;
}

/* Reads data and fills holes with zeros. *ret_empty: the whole range is a hole, and nothing was filled in. Only ENXIO
 * means that no data follows; if the filesystem gives any other answer that makes no sense, everything is read. */
static int ingest_read_sparse(struct item *item, int fd, bool *ret_empty, struct error *err)
{
	uint64_t at = item->offset, end = item->offset + item->length, stop;
	off_t data, hole;
	int r;

	for (; at < end; at = stop) {
		data = lseek(fd, (off_t)at, SEEK_DATA);
		if (data < 0 ? errno != ENXIO : (uint64_t)data < at)
			return ingest_read(item, fd, at, end, err);
		if (data < 0 || (uint64_t)data > end)
			data = (off_t)end;
		if (at == item->offset && (uint64_t)data == end && item->kind == ITEM_PIECE) {
			*ret_empty = true;
			return 0;
		}
		memset(item->content + (at - item->offset), 0, (uint64_t)data - at);
		hole = lseek(fd, data, SEEK_HOLE);
		stop = hole <= data || (uint64_t)hole > end ? end : (uint64_t)hole;
		r = ingest_read(item, fd, (uint64_t)data, stop, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Compresses the chunk. A frame is kept if it saves a sixteenth; below that, raw bytes, read without a copy, are worth
 * more. */
static int ingest_compress(struct ingest *ingest, struct batch *batch, struct batch_chunk *chunk, struct error *err)
{
	size_t room = chunk->length - chunk->length / 16;
	size_t stored;
	int r;

	if (chunk->length / 16 == 0)
		return 0;
	r = codec_compress(ingest->codec, span_of(chunk->content, chunk->length),
			   batch->memory.frames + batch->frames_used, room, &stored, err);
	if (r < 0 || stored == 0)
		return r;
	chunk->bytes = batch->memory.frames + batch->frames_used;
	chunk->stored = (uint32_t)stored;
	chunk->codec = DSFS_CODEC_ZSTD;
	batch->frames_used += (uint32_t)stored;
	return 0;
}

/* Sums also the blocks of a chunk of a large file, which may be read in parts. Small files are read from start to end,
 * and then whole chunks, cached for the next step, take fewer reads. A chunk of one block already has the block's
 * sum. */
static void ingest_sum(struct batch *batch, const struct item *item, struct batch_chunk *chunk, uint32_t size)
{
	uint32_t sums = chunk->sum.kind;

	if (item->kind != ITEM_PIECE || size <= sum_block(sums)) {
		chunk->sum = sum_of(sums, chunk->content, chunk->length);
		return;
	}
	chunk->block_sums = batch->blocks + batch->blocks_used;
	chunk->sum = sum_of_each(sums, chunk->content, chunk->length, batch->blocks + batch->blocks_used);
	batch->blocks_used += sum_blocks_size(sums, chunk->length);
}

static void ingest_look_at(struct batch *batch, const struct item *item, struct batch_chunk *chunk, bool empty,
			   uint32_t size)
{
	chunk->is_hole = empty || bytes_are_zero(chunk->content, chunk->length);
	if (chunk->is_hole)
		return;
	ingest_sum(batch, item, chunk, size);
	chunk->bytes = chunk->content;
	chunk->stored = chunk->length;
}

static struct checksum_key ingest_key(const struct batch *batch, const struct item *item)
{
	uint64_t sums[KEY_CHUNKS];
	struct table_key key;

	for (uint32_t i = 0; i < item->result.chunk_count; i++)
		sums[i] = key_of_sum(&batch->chunks[item->result.first_chunk + i].sum);
	key = key_of_file(item->length, sums, item->result.chunk_count);
	return (struct checksum_key){ key.low, key.high };
}

static int ingest_chunks(struct ingest *ingest, struct batch *batch, struct item *item, bool empty,
			 struct error *err)
{
	uint32_t size = 1u << ingest->setup.chunk_log;
	int r = 0;

	item->result.first_chunk = batch->chunk_count;
	for (uint32_t at = 0; at < item->length; at += size) {
		struct batch_chunk *chunk = &batch->chunks[batch->chunk_count++];

		*chunk = (struct batch_chunk){ .sum.kind = (uint8_t)ingest->setup.sums,
					       .content = item->content + at,
					       .length = item->length - at < size ? item->length - at : size };
		ingest_look_at(batch, item, chunk, empty, size);
	}
	item->result.chunk_count = batch->chunk_count - item->result.first_chunk;
	if (item->kind == ITEM_FILE)
		item->result.key = ingest_key(batch, item);
	if (ingest->view && item->length)
		dedup_find(ingest->view, batch, item);
	for (uint32_t i = item->result.first_chunk; r == 0 && item->compress && i < batch->chunk_count; i++)
		if (!batch->chunks[i].is_hole && !batch->chunks[i].duplicate_of)
			r = ingest_compress(ingest, batch, &batch->chunks[i], err);
	return r;
}

static int ingest_xattrs(const struct ingest *ingest, struct item *item, int fd, const char *path, struct error *err)
{
	struct error why = { 0 };
	int r = xattrs_read(fd, path, ingest->setup.xattrs, &item->result.xattrs, &item->result.xattrs_length,
			    &why);

	return r < 0 ? ingest_failed(item, r, why.reason, err) : 0;
}

/* Refuses a file that has content although its size is 0, as in /proc. */
static int ingest_check_empty(const struct item *item, int fd, struct error *err)
{
	char byte;
	ssize_t n = pread(fd, &byte, 1, 0);

	if (n < 0)
		return ingest_read_failed(item, fd, -errno, strerror(errno), err);
	return n ? ingest_read_failed(item, fd, -EINVAL, "has content but a size of 0", err) : 0;
}

static int ingest_file(struct ingest *ingest, struct batch *batch, struct item *item, struct error *err)
{
	auto_close int fd = -1;
	bool empty = false;
	int r;

	r = ingest_open(item, &fd, err);
	if (r < 0)
		return r;
	if (item->attributes.size == 0)
		r = ingest_check_empty(item, fd, err);
	else if (item->attributes.has_holes)
		r = ingest_read_sparse(item, fd, &empty, err);
	else
		r = ingest_read(item, fd, item->offset, item->offset + item->length, err);
	if (r == 0 && item->offset == 0)
		r = ingest_xattrs(ingest, item, fd, NULL, err);
	if (r == 0)
		r = ingest_check(item, fd, err);
	if (r < 0)
		return r;
	return ingest_chunks(ingest, batch, item, empty, err);
}

/* Checks that a skipped range is still a hole, without reading it. */
static int ingest_skip(const struct item *item, struct error *err)
{
	auto_close int fd = -1;
	off_t data;
	int r;

	r = ingest_open(item, &fd, err);
	if (r < 0)
		return r;
	data = lseek(fd, (off_t)item->offset, SEEK_DATA);
	if (data < 0 && errno != ENXIO)
		return ingest_failed(item, -errno, strerror(errno), err);
	if (data >= 0 && (uint64_t)data < item->offset + item->skip)
		return ingest_changed(item, err);
	return ingest_check(item, fd, err);
}

/* Reads the xattrs of an unchanged file, which the stat cache does not have, by path and without opening the file. */
static int ingest_unchanged_xattrs(const struct ingest *ingest, struct item *item, struct error *err)
{
	char path[sizeof("/proc/self/fd/") + 10 + 1 + DSFS_NAME_MAX + 1];
	auto_close int fd = -1;
	int r;

	if (stat_cache_has_no_xattrs(ingest->setup.stat_cache, item->previous_ordinal))
		return 0;
	if (item->attributes.is_followed) {
		r = ingest_open(item, &fd, err);
		return r < 0 ? r : ingest_xattrs(ingest, item, fd, NULL, err);
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", item->dir->fd, item->name);
	return ingest_xattrs(ingest, item, -1, path, err);
}

static int ingest_unchanged(struct ingest *ingest, struct batch *batch, struct item *item, struct error *err)
{
	const void *content;
	struct inode inode;
	int r;

	r = ingest_unchanged_xattrs(ingest, item, err);
	if (r < 0 || item->kind == ITEM_UNCHANGED)
		return r;
	if (!stat_cache_find(ingest->setup.stat_cache, &item->attributes, item->previous_ordinal, &inode))
		return ingest_changed(item, err);
	content = stat_cache_inline_bytes(ingest->setup.stat_cache, &inode);
	if (!content)
		return ingest_changed(item, err);
	memcpy(item->content, content, item->length);
	return ingest_chunks(ingest, batch, item, false, err);
}

static int ingest_symlink(struct item *item, struct error *err)
{
	ssize_t n = readlinkat(item->dir->fd, item->name, (char *)item->content, item->length);

	if (n < 0 && errno == EINVAL)
		return ingest_changed(item, err);
	if (n < 0)
		return ingest_failed(item, -errno, strerror(errno), err);
	if (n == 0 || (size_t)n > DSFS_LINK_MAX)
		return ingest_failed(item, -ENAMETOOLONG, "the symlink's target is empty or too long", err);
	if ((size_t)n == item->length)
		return ingest_changed(item, err);
	item->content[n] = 0;
	item->length = (uint32_t)n;
	return 0;
}

static int ingest_directory(const struct ingest *ingest, struct item *item, struct error *err)
{
	int r = ingest_xattrs(ingest, item, item->dir->fd, NULL, err);

	return r < 0 ? r : ingest_check(item, item->dir->fd, err);
}

/* Makes the chunks of an item that came with its content. */
static int ingest_loaded(struct ingest *ingest, struct batch *batch, struct item *item, struct error *err)
{
	if (item->kind != ITEM_FILE && item->kind != ITEM_PIECE)
		return 0;
	item->result.read_bytes = item->length;
	return ingest_chunks(ingest, batch, item, false, err);
}

static int ingest_item(struct ingest *ingest, struct batch *batch, struct item *item, struct error *err)
{
	if (item->is_loaded)
		return ingest_loaded(ingest, batch, item, err);
	switch (item->kind) {
	case ITEM_FILE:
		if (item->previous_ordinal)
			return ingest_unchanged(ingest, batch, item, err);
		return ingest_file(ingest, batch, item, err);
	case ITEM_PIECE:
		return ingest_file(ingest, batch, item, err);
	case ITEM_SKIP:
		return ingest_skip(item, err);
	case ITEM_UNCHANGED:
		return ingest_unchanged(ingest, batch, item, err);
	case ITEM_SYMLINK:
		return ingest_symlink(item, err);
	case ITEM_DIRECTORY:
		return ingest_directory(ingest, item, err);
	case ITEM_LINK:
		break;
	}
	return 0;
}

int ingest_work(void *argument, struct batch *batch, struct error *err)
{
	int r;

	for (uint32_t i = 0; i < batch->count; i++) {
		r = interrupt_check(err);
		if (r == 0)
			r = ingest_item(argument, batch, &batch->items[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}
