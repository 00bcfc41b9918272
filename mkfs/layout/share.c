/* SPDX-License-Identifier: MIT */
/* Looks up stored content by its key and compares it with new content. */
#include "layout/share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "content/compare.h"
#include "content/key.h"
#include "image/members/address.h"

int share_open(struct share *share, const struct dedup *dedup, const struct records *records, struct writer *writer,
	       const struct temp *temp, struct error *err)
{
	int r;

	*share = (struct share){ .dedup = dedup, .records = records, .writer = writer };
	share->codec = codec_new();
	share->decoded = malloc((size_t)1 << records->sums.chunk_log);
	if (!share->codec || !share->decoded)
		return error_no_memory(err);
	r = table_open(&share->files, temp, err);
	return r < 0 ? r : table_open(&share->pieces, temp, err);
}

void share_close(struct share *share)
{
	codec_free(share->codec);
	free(share->decoded);
	table_close(&share->files);
	table_close(&share->pieces);
	*share = (struct share){ 0 };
}

/* --- chunks --- */

/* Returns the bytes of a record, in this version and in those before. */
static uint32_t share_record_size(const struct share *share)
{
	return index_record_size(share->records->sums.kind);
}

const struct dsfs_chunk *share_record(const struct share *share, uint64_t record)
{
	if (!(record & DEDUP_RECORD))
		return records_chunk(share->records, record);
	return index_record_in(share->dedup->records.bytes, share->dedup->sums, record & ~DEDUP_RECORD);
}

static bool share_exists(const struct share *share, uint64_t record)
{
	if (record & DEDUP_RECORD)
		return (record & ~DEDUP_RECORD) < share->dedup->records.length / share_record_size(share);
	return record < records_chunk_count(share->records);
}

/* Returns stored bytes from the new index, from the volume, or where they wait. */
static int share_view(void *argument, const struct chunk *chunk, const uint8_t **ret, struct error *err)
{
	const struct share *share = argument;
	struct span blob = { share->records->blob.bytes, share->records->blob.length };

	if (scatter_is_waiting(chunk->address))
		return scatter_view(share->scatter, chunk->address, chunk->stored, ret, err);
	if (!chunk_is_inline(chunk))
		return writer_view(share->writer, chunk->address, chunk->stored, ret, err);
	*ret = span_at(blob, address_offset(chunk->address), chunk->stored);
	return *ret ? 0 : error_set(err, -EBADMSG, "chunk outside the index");
}

int share_is_same(const struct share *share, uint64_t record, const struct batch_chunk *chunk, struct error *err)
{
	struct compare compare = { share->codec, share->decoded, share_view, (void *)share };

	if (!share_exists(share, record))
		return 0;
	if (chunk->duplicate_of &&
	    !memcmp(share_record(share, chunk->duplicate_of), share_record(share, record), share_record_size(share)))
		return 1;
	return compare_chunk(&compare, share_record(share, record), chunk, err);
}

bool share_follows(const struct share *share, uint64_t record)
{
	struct chunk before, chunk;

	if ((record & ~DEDUP_RECORD) == 0 || !share_exists(share, record))
		return false;
	if (record & DEDUP_RECORD) /* in the order of an older file, so the new one is not more scattered */
		return true;
	before = chunk_of_record(share->records->sums.kind, share_record(share, record - 1));
	chunk = chunk_of_record(share->records->sums.kind, share_record(share, record));
	return chunk.address == before.address + before.stored;
}

/* --- whole files --- */

/* Returns the key of a file of at most BATCH_BYTES. Others have none; prefetching for them does no harm. */
static struct table_key share_file_key(const struct item *item)
{
	return (struct table_key){ item->result.key.low, item->result.key.high };
}

void share_prefetch(const struct share *share, const struct item *item)
{
	table_prefetch(&share->files, share_file_key(item));
}

int share_find_file(const struct share *share, const struct batch *batch, const struct item *item, uint64_t *ret_first,
		    struct error *err)
{
	uint64_t first;
	int r;

	if (!table_find(&share->files, share_file_key(item), &first))
		return 0;
	for (uint32_t i = 0; i < item->result.chunk_count; i++) {
		r = share_is_same(share, first + i, &batch->chunks[item->result.first_chunk + i], err);
		if (r <= 0)
			return r;
	}
	*ret_first = first;
	return 1;
}

bool share_find_records(const struct share *share, const struct item *item, const void *records, uint64_t count,
			uint64_t *ret_first)
{
	uint64_t first;

	if (!table_find(&share->files, share_file_key(item), &first) ||
	    first + count > records_chunk_count(share->records) ||
	    memcmp(share_record(share, first), records, count * share_record_size(share)) != 0)
		return false;
	*ret_first = first;
	return true;
}

int share_add_file(struct share *share, const struct item *item, uint64_t first, struct error *err)
{
	uint64_t other;

	if (table_find(&share->files, share_file_key(item), &other))
		return 0;
	return table_set(&share->files, share_file_key(item), first, err);
}

/* --- chunks of large files --- */

bool share_find_piece(const struct share *share, const struct batch_chunk *chunk, uint64_t *ret_record)
{
	return table_find(&share->pieces, key_of_chunk(&chunk->sum, chunk->length), ret_record);
}

int share_add_piece(struct share *share, const struct batch_chunk *chunk, uint64_t record, struct error *err)
{
	uint64_t other;

	if (share_find_piece(share, chunk, &other))
		return 0;
	return table_set(&share->pieces, key_of_chunk(&chunk->sum, chunk->length), record, err);
}
