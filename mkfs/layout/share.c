/* SPDX-License-Identifier: MIT */
/* Comparison of new content with what is on the volume. */
#include "layout/share.h"

#include <errno.h>
#include <string.h>

#include "base/span.h"
#include "content/compare.h"
#include "image/address.h"

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

/* What this version has in its index, or anything on the volume. */
static int share_view(void *argument, const struct chunk *chunk, const uint8_t **ret, struct error *err)
{
	const struct sequence *sequence = argument;
	struct span blob = { sequence->blob.bytes, sequence->blob.length };

	if (!chunk_is_inline(chunk))
		return writer_view(sequence->writer, chunk->address, chunk->stored, ret, err);
	*ret = span_at(blob, address_offset(chunk->address), chunk->stored);
	return *ret ? 0 : error_set(err, -EBADMSG, "chunk outside of the index");
}

int share_is_same(struct sequence *sequence, uint64_t record, const struct batch_chunk *chunk, struct error *err)
{
	struct compare compare = { sequence->codec, sequence->decoded, share_view, sequence };

	if (!share_exists(sequence, record))
		return 0;
	if (chunk->known && !memcmp(share_record(sequence, chunk->known), share_record(sequence, record),
				    sizeof(struct dsfs_chunk)))
		return 1;
	return compare_chunk(&compare, share_record(sequence, record), chunk, err);
}

bool share_follows(const struct sequence *sequence, uint64_t record)
{
	struct chunk before, chunk;

	if ((record & ~KNOWN_RECORD) == 0 || !share_exists(sequence, record))
		return false;
	if (record & KNOWN_RECORD) /* in the order of an earlier file: no more scattered than that was */
		return true;
	before = chunk_of_record(share_record(sequence, record - 1));
	chunk = chunk_of_record(share_record(sequence, record));
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
