/* SPDX-License-Identifier: MIT */
/* Decodes chunk records, and checks content against its sum. */
#include "image/chunk.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "image/members/address.h"

#define STORED_MASK ((UINT32_C(1) << DSFS_STORED_BITS) - 1)

bool chunk_is_hole(const struct chunk *chunk)
{
	return chunk->address == 0;
}

bool chunk_is_inline(const struct chunk *chunk)
{
	return address_member(chunk->address) == DSFS_IN_INDEX;
}

/* Returns the bytes of the i-th chunk of a file: all are full except the last. */
static uint32_t chunk_length(const struct index *index, const struct inode *inode, uint64_t i)
{
	uint64_t start = i << index->chunk_log, full = UINT64_C(1) << index->chunk_log;

	return (uint32_t)(inode->size - start < full ? inode->size - start : full);
}

static bool chunk_is_inside(const struct index *index, const struct chunk *chunk)
{
	uint32_t member = address_member(chunk->address);
	uint64_t offset = address_offset(chunk->address);

	if (member == DSFS_IN_INDEX)
		return span_at(index->blob, offset, chunk->stored) != NULL;
	if (index->members.count)
		return members_in_column(&index->members, chunk->address, chunk->stored);
	return member < index->member_count && offset >= DSFS_DATA_AT && offset <= index->member_sizes[member] &&
	       chunk->stored <= index->member_sizes[member] - offset;
}

/* The sum of a longer record is in two parts, so that the part common to all kinds lies in the same place. */
struct chunk chunk_of_record(uint32_t kind, const struct dsfs_chunk *disk)
{
	uint32_t stored = dsfs_le32_get(disk->stored);
	struct chunk chunk = { .address = dsfs_le64_get(disk->address),
			       .sum.kind = (uint8_t)kind,
			       .stored = stored & STORED_MASK,
			       .codec = (uint8_t)(stored >> DSFS_STORED_BITS) };

	memcpy(chunk.sum.bytes, &disk->sum, sizeof(disk->sum));
	if (kind == DSFS_SUM_SHA256)
		memcpy(chunk.sum.bytes + sizeof(disk->sum), ((const struct dsfs_chunk_sha256 *)disk)->rest,
		       sizeof(((const struct dsfs_chunk_sha256 *)disk)->rest));
	return chunk;
}

bool chunk_has_possible_size(const struct chunk *chunk)
{
	if (chunk_is_hole(chunk))
		return chunk->stored == 0 && chunk->codec == DSFS_CODEC_RAW;
	if (chunk->codec == DSFS_CODEC_RAW)
		return chunk->stored == chunk->length;
	return chunk->codec == DSFS_CODEC_ZSTD && !chunk_is_inline(chunk) && chunk->stored > 0 &&
	       chunk->stored < chunk->length;
}

/* True if the i-th chunk lies in a long hole. Else skips the chunks of long holes before it, which have no records. */
static bool chunk_find_hole(const struct index *index, const struct inode *inode, uint64_t i, struct chunk *chunk,
			    uint64_t *ret_count)
{
	struct hole hole;

	*ret_count = 1;
	chunk->number = inode->where + i;
	if (!inode->holes.count || !hole_list_find(index, &inode->holes, i, &hole))
		return false;
	chunk->number -= hole.before + hole.count;
	if (i - hole.first >= hole.count)
		return false;
	*ret_count = hole.count - (i - hole.first);
	*chunk = (struct chunk){ .number = hole.record,
				 .sum.kind = (uint8_t)index->shape.chunk_sum,
				 .length = chunk_length(index, inode, i) };
	return true;
}

int chunk_get_run(const struct index *index, const struct inode *inode, uint64_t i, struct chunk *ret,
		  uint64_t *ret_count, struct error *err)
{
	const struct dsfs_chunk *disk;
	struct chunk chunk;
	uint64_t number;

	if (i >= inode_chunk_count(index, inode))
		return error_set(err, -EINVAL, "inode %" PRIu64 ": chunk %" PRIu64 " is past its end", inode->ordinal,
				 i);
	if (chunk_find_hole(index, inode, i, &chunk, ret_count)) {
		*ret = chunk;
		return 0;
	}
	number = chunk.number;
	disk = index_record(index, number);
	if (!disk)
		return error_set(err, -EBADMSG, "chunk %" PRIu64 " of %" PRIu64 " does not exist", number,
				 index->shape.chunk_count);
	chunk = chunk_of_record(index->shape.chunk_sum, disk);
	chunk.number = number;
	chunk.length = chunk_length(index, inode, i);
	if (!chunk_has_possible_size(&chunk) || (!chunk_is_hole(&chunk) && !chunk_is_inside(index, &chunk)))
		return error_set(err, -EBADMSG,
				 "chunk %" PRIu64 ": impossible record: address=%#" PRIx64 " stored=%" PRIu32
				 " codec=%u length=%" PRIu32,
				 chunk.number, chunk.address, chunk.stored, chunk.codec, chunk.length);
	*ret = chunk;
	return 0;
}

int chunk_get(const struct index *index, const struct inode *inode, uint64_t i, struct chunk *ret, struct error *err)
{
	uint64_t count;

	return chunk_get_run(index, inode, i, ret, &count, err);
}

uint64_t chunk_run_bytes(const struct index *index, const struct inode *inode, uint64_t i, uint64_t count)
{
	uint64_t start = i << index->chunk_log, bytes = count << index->chunk_log;

	return bytes < inode->size - start ? bytes : inode->size - start;
}

const void *chunk_inline_bytes(const struct index *index, const struct chunk *chunk)
{
	return span_at(index->blob, address_offset(chunk->address), chunk->stored);
}

int chunk_verify(const struct chunk *chunk, const struct iovec *pieces, int count, struct error *err)
{
	struct sum sum = sum_of_pieces(chunk->sum.kind, pieces, count);
	char is[SUM_TEXT_SIZE], should_be[SUM_TEXT_SIZE];

	if (sum_is_same(&sum, &chunk->sum))
		return 0;
	return error_set(err, -EBADMSG, "chunk sum %s, expected %s", sum_text(&sum, is),
			 sum_text(&chunk->sum, should_be));
}

int chunk_decode(const struct chunk *chunk, struct codec *codec, const void *stored, void *out, struct error *err)
{
	struct iovec piece = { out, chunk->length };
	int r;

	if (chunk_is_hole(chunk)) {
		memset(out, 0, chunk->length);
		return 0;
	}
	if (chunk->codec == DSFS_CODEC_RAW) {
		memmove(out, stored, chunk->length);
	} else {
		r = codec_decompress(codec, stored, chunk->stored, out, chunk->length, err);
		if (r < 0)
			return r;
	}
	return chunk_verify(chunk, &piece, 1, err);
}

void chunk_encode(const struct chunk *chunk, void *record)
{
	struct dsfs_chunk_sha256 disk = { .chunk.address = dsfs_le64_of(chunk->address) };

	memcpy(&disk.chunk.sum, chunk->sum.bytes, sizeof(disk.chunk.sum));
	memcpy(disk.rest, chunk->sum.bytes + sizeof(disk.chunk.sum), sizeof(disk.rest));
	disk.chunk.stored = dsfs_le32_of(chunk->stored | (uint32_t)chunk->codec << DSFS_STORED_BITS);
	memcpy(record, &disk, index_record_size(chunk->sum.kind));
}
