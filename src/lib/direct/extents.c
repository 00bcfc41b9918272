/* SPDX-License-Identifier: MIT */
/* Converts chunk records to extents of the public interface, and back. */
#include "lib/direct/extents.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "image/chunk.h"
#include "image/inode.h"
#include "image/members/address.h"
#include "lib/direct/direct.h"
#include "lib/permission.h"

static int extents_open(const struct index *index, uint64_t ordinal, struct inode *ret, struct error *err)
{
	struct permission permission = { 0 };
	int r = inode_get(index, ordinal, ret, err);

	if (r < 0)
		return r;
	if (!S_ISREG(ret->mode))
		return error_set(err, S_ISDIR(ret->mode) ? -EISDIR : -EINVAL, "inode %" PRIu64 " is not a regular file",
				 ordinal);
	r = permission_check(&permission, ret, PERMISSION_READ, err);
	permission_end(&permission);
	return r;
}

/* Makes an extent of a chunk; a long hole is one extent. */
static struct dsfs_file_extent extents_of(const struct chunk *chunk, uint64_t file_offset, uint64_t length)
{
	struct dsfs_file_extent extent = { .file_offset = file_offset,
					   .length = length,
					   .stored = chunk->stored,
					   .codec = chunk->codec,
					   .sum_kind = chunk->sum.kind };

	static_assert(sizeof(extent.sum) == sizeof(chunk->sum.bytes), "a sum has room");
	memcpy(extent.sum, chunk->sum.bytes, sizeof(extent.sum));

	if (chunk_is_hole(chunk)) {
		extent.flags = DSFS_EXTENT_HOLE;
	} else if (chunk_is_inline(chunk)) {
		extent.flags = DSFS_EXTENT_INLINE;
	} else {
		extent.member = address_member(chunk->address);
		extent.offset = address_offset(chunk->address);
	}
	return extent;
}

int extents_list(struct opened *opened, uint64_t id, uint64_t offset, struct dsfs_file_extent *ret, size_t most,
		 struct error *err)
{
	const struct direct *direct = (const struct direct *)opened;
	const struct index *index = direct->version.index;
	uint64_t i = offset >> index->chunk_log, run;
	struct inode inode;
	struct chunk chunk;
	int count = 0, r = extents_open(index, direct_ordinal(direct, id), &inode, err);

	if (r < 0)
		return r;
	if (offset >= inode.size)
		return 0;
	for (; i < inode_chunk_count(index, &inode) && (size_t)count < most && count < INT_MAX; i += run) {
		r = chunk_get_run(index, &inode, i, &chunk, &run, err);
		if (r < 0)
			return r;
		ret[count++] = extents_of(&chunk, i << index->chunk_log, chunk_run_bytes(index, &inode, i, run));
	}
	return count;
}

/* --- verifying --- */

/* Makes a chunk record; its address only tells inline from stored. Fields are trusted no more than the bytes. */
static int extents_chunk(const struct dsfs_file_extent *extent, struct chunk *ret, struct error *err)
{
	bool is_inline = extent->flags & DSFS_EXTENT_INLINE;
	struct chunk chunk = { .address = is_inline ? address_make(DSFS_IN_INDEX, 0) : DSFS_DATA_AT,
			       .sum.kind = (uint8_t)extent->sum_kind,
			       .stored = (uint32_t)extent->stored,
			       .length = (uint32_t)extent->length,
			       .codec = (uint8_t)extent->codec };

	memcpy(chunk.sum.bytes, extent->sum, sizeof(chunk.sum.bytes));
	if (extent->flags & ~DSFS_EXTENT_INLINE || !sum_is_known(extent->sum_kind) ||
	    extent->length > UINT32_C(1) << DSFS_CHUNK_LOG_MAX ||
	    extent->stored > extent->length || extent->codec > UINT8_MAX || !chunk_has_possible_size(&chunk))
		return error_set(err, -EINVAL,
				 "no extent: length=%" PRIu64 " stored=%" PRIu64 " codec=%" PRIu32 " flags=%#" PRIx32
				 " sum_kind=%" PRIu32,
				 extent->length, extent->stored, extent->codec, extent->flags, extent->sum_kind);
	*ret = chunk;
	return 0;
}

/* Keeps a codec for each thread until it ends: making one takes longer than decompressing a small chunk. */
static pthread_key_t extents_key;
static pthread_once_t extents_once = PTHREAD_ONCE_INIT;
static int extents_failure;

static void extents_forget(void *codec)
{
	codec_free(codec);
}

static void extents_prepare(void)
{
	extents_failure = pthread_key_create(&extents_key, extents_forget);
}

/* Returns the thread's codec; NULL: no memory. */
static struct codec *extents_codec(void)
{
	struct codec *codec;

	pthread_once(&extents_once, extents_prepare);
	if (extents_failure)
		return NULL;
	codec = pthread_getspecific(extents_key);
	if (codec)
		return codec;
	codec = codec_new();
	if (pthread_setspecific(extents_key, codec) == 0)
		return codec;
	codec_free(codec);
	return NULL;
}

static int extents_decompress(const struct chunk *chunk, const void *stored, void *contents, struct error *err)
{
	struct codec *codec;

	if (!contents)
		return error_set(err, -EINVAL, "a compressed extent needs a buffer for its contents");
	codec = extents_codec();
	return codec ? chunk_decode(chunk, codec, stored, contents, err) : error_no_memory(err);
}

int extents_verify(const struct dsfs_file_extent *extent, const void *stored, void *contents, struct error *err)
{
	struct iovec piece = { (void *)stored, extent->length };
	struct chunk chunk;
	int r;

	if (extent->flags == DSFS_EXTENT_HOLE) {
		if (contents)
			memset(contents, 0, extent->length);
		return 0;
	}
	r = extents_chunk(extent, &chunk, err);
	if (r < 0)
		return r;
	if (chunk.codec != DSFS_CODEC_RAW)
		return extents_decompress(&chunk, stored, contents, err);
	return contents ? chunk_decode(&chunk, NULL, stored, contents, err) : chunk_verify(&chunk, &piece, 1, err);
}
