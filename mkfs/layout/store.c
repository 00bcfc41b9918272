/* SPDX-License-Identifier: MIT */
/* Applies the placement rules: tiny files go into the index, small ones inside a block, others start at a block, and
 * frames are packed densely. */
#include "layout/store.h"

#include "image/chunk.h"
#include "image/members/address.h"

int store_existing(struct store *store, const struct dsfs_chunk *record, const uint8_t *block_sums, struct error *err)
{
	struct chunk chunk = chunk_of_record(store->records->sums.kind, record);

	if (!chunk_is_hole(&chunk)) {
		allocator_hold(store->allocator, chunk.address, chunk.stored);
		store->existing_bytes += chunk.stored;
		store->existing_raw_bytes += chunk.codec == DSFS_CODEC_RAW ? chunk.stored : 0;
	}
	return records_add_chunk(store->records, record, block_sums, err);
}

static int store_at(struct store *store, const struct batch_chunk *chunk, uint64_t address, struct error *err)
{
	struct chunk encoded = { .address = address, .sum = chunk->sum, .stored = chunk->stored,
				 .codec = chunk->codec };
	struct dsfs_chunk_sha256 record;

	chunk_encode(&encoded, &record);
	return records_add_chunk(store->records, &record.chunk, chunk->block_sums, err);
}

int store_chunk(struct store *store, const struct batch_chunk *chunk, struct error *err)
{
	uint64_t address;
	int r;

	if (chunk->is_hole)
		return records_add_hole(store->records, err);
	r = writer_append(store->writer, chunk->bytes, chunk->stored, &address, err);
	return r < 0 ? r : store_at(store, chunk, address, err);
}

static int store_later(struct store *store, const struct batch_chunk *chunk, struct error *err)
{
	uint64_t address;
	int r;

	if (chunk->is_hole)
		return records_add_hole(store->records, err);
	r = scatter_put(store->scatter, chunk, &address, err);
	return r < 0 ? r : store_at(store, chunk, address, err);
}

static bool store_fits_inline(const struct store *store, const struct item *item)
{
	return item->length <= STORE_INLINE_MAX && store->inline_bytes + item->length <= STORE_INLINE_TOTAL;
}

static int store_inline(struct store *store, const struct batch_chunk *chunk, struct error *err)
{
	struct batch_chunk raw = *chunk;
	uint64_t offset;
	int r;

	if (chunk->is_hole)
		return records_add_hole(store->records, err);
	r = mapped_append(&store->records->blob, chunk->content, chunk->length, &offset, err);
	if (r < 0)
		return r;
	store->inline_bytes += chunk->length;
	raw.stored = chunk->length;
	raw.codec = DSFS_CODEC_RAW;
	return store_at(store, &raw, address_make(DSFS_IN_INDEX, offset), err);
}

/* Returns how many bytes the file takes on the volume, and its alignment. */
static uint64_t store_measure(const struct batch *batch, const struct item *item, enum space_align *ret_align)
{
	bool frames = false;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < item->result.chunk_count; i++) {
		const struct batch_chunk *chunk = &batch->chunks[item->result.first_chunk + i];

		bytes += chunk->stored;
		frames |= chunk->codec != DSFS_CODEC_RAW;
	}
	*ret_align = bytes < DSFS_BLOCK ? SPACE_WHOLE : frames ? SPACE_DENSE : SPACE_BLOCK;
	return bytes;
}

static int store_on_volume(struct store *store, const struct batch *batch, const struct item *item, struct error *err)
{
	const struct batch_chunk *chunks = &batch->chunks[item->result.first_chunk];
	enum space_align align;
	uint64_t bytes = store_measure(batch, item, &align);
	int r = 0;

	if (bytes && store->scatter)
		r = scatter_begin(store->scatter, item, records_chunk_count(store->records), bytes, align, err);
	else if (bytes)
		r = writer_reserve_anywhere(store->writer, bytes, align, err);
	for (uint32_t i = 0; r == 0 && i < item->result.chunk_count; i++)
		r = store->scatter ? store_later(store, &chunks[i], err) : store_chunk(store, &chunks[i], err);
	return r;
}

int store_file(struct store *store, const struct batch *batch, const struct item *item, uint64_t *ret_first,
	       struct error *err)
{
	uint64_t first = records_chunk_count(store->records);
	int r = store_fits_inline(store, item) ? store_inline(store, &batch->chunks[item->result.first_chunk], err) :
						 store_on_volume(store, batch, item, err);

	if (r == 0)
		*ret_first = first;
	return r;
}
