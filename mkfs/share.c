/* SPDX-License-Identifier: MIT */
/* Comparison of new content with what is on the volume. */
#include "share.h"

#include <string.h>

#include "image/address.h"
#include "image/chunk.h"

#define SHARE_STORED_MASK ((UINT32_C(1) << DSFS_STORED_BITS) - 1)

const struct dsfs_chunk *share_record(const struct sequence *sequence, uint64_t record)
{
	const struct mapped *records = record & KNOWN_RECORD ? &sequence->known->records : &sequence->chunks;

	return (const struct dsfs_chunk *)records->bytes + (record & ~KNOWN_RECORD);
}

static bool share_exists(const struct sequence *sequence, uint64_t record)
{
	if (record & KNOWN_RECORD)
		return (record & ~KNOWN_RECORD) < sequence->known->records.length / sizeof(struct dsfs_chunk);
	return record < sequence_chunk_count(sequence);
}

static struct chunk share_chunk(const struct sequence *sequence, uint64_t record)
{
	const struct dsfs_chunk *disk = share_record(sequence, record);
	uint32_t stored = le32_get(disk->stored);

	return (struct chunk){ .number = record,
			       .address = le64_get(disk->address),
			       .sum = le64_get(disk->sum),
			       .stored = stored & SHARE_STORED_MASK,
			       .codec = (uint8_t)(stored >> DSFS_STORED_BITS) };
}

static int share_compare_stored(struct sequence *sequence, const struct chunk *found, const struct batch_chunk *chunk,
				struct error *err)
{
	const uint8_t *bytes;
	int r;

	if (found->codec == DSFS_CODEC_RAW && found->stored != chunk->length)
		return 0;
	r = writer_view(sequence->writer, found->address, found->stored, &bytes, err);
	if (r < 0)
		return r;
	if (found->codec != DSFS_CODEC_RAW) {
		if (codec_decompress(sequence->codec, bytes, found->stored, sequence->decoded, chunk->length,
				     NULL) < 0)
			return 0; /* of another length */
		bytes = sequence->decoded;
	}
	return memcmp(bytes, chunk->content, chunk->length) == 0;
}

int share_is_same(struct sequence *sequence, uint64_t record, const struct batch_chunk *chunk, struct error *err)
{
	struct chunk found;

	if (!share_exists(sequence, record))
		return 0;
	if (chunk->known && !memcmp(share_record(sequence, chunk->known), share_record(sequence, record),
				    sizeof(struct dsfs_chunk)))
		return 1;
	found = share_chunk(sequence, record);
	if (chunk_is_hole(&found) || chunk->is_hole)
		return chunk_is_hole(&found) && chunk->is_hole;
	if (found.sum != chunk->sum)
		return 0;
	if (chunk_is_inline(&found))
		return found.stored == chunk->length &&
		       !memcmp(sequence->blob.bytes + address_offset(found.address), chunk->content, chunk->length);
	return share_compare_stored(sequence, &found, chunk, err);
}

bool share_follows(const struct sequence *sequence, uint64_t record)
{
	struct chunk before, chunk;

	if ((record & ~KNOWN_RECORD) == 0 || !share_exists(sequence, record))
		return false;
	if (record & KNOWN_RECORD) /* in the order of an earlier file: no more scattered than that was */
		return true;
	before = share_chunk(sequence, record - 1);
	chunk = share_chunk(sequence, record);
	return chunk.address == before.address + before.stored;
}

int share_find_file(struct sequence *sequence, const struct batch *batch, const struct item *item,
		    uint64_t *ret_first, struct error *err)
{
	struct table_key key = { item->key.low, item->key.high };
	uint64_t first;
	int r;

	if (!table_find(&sequence->files, key, &first))
		return 0;
	for (uint32_t i = 0; i < item->chunk_count; i++) {
		r = share_is_same(sequence, first + i, &batch->chunks[item->first_chunk + i], err);
		if (r <= 0)
			return r;
	}
	*ret_first = first;
	return 1;
}
