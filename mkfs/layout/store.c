/* SPDX-License-Identifier: MIT */
/* The rules of place: tiny files in the index, small ones inside a block, others from a block on, frames densely. */
#include "layout/store.h"

#include "image/address.h"
#include "image/chunk.h"

int store_record(struct sequence *sequence, const struct dsfs_chunk *record, const le64 *fine, struct error *err)
{
	struct chunk chunk = chunk_of_record(record);
	uint64_t number = sequence_chunk_count(sequence);
	int r = 0;

	if (fine && !chunk_is_hole(&chunk) && !chunk_is_inline(&chunk) && chunk.codec == DSFS_CODEC_RAW)
		r = sums_add(&sequence->sums, number, fine, (uint32_t)(round_up(chunk.stored, DSFS_BLOCK) / DSFS_BLOCK),
			     err);
	return r < 0 ? r : mapped_append(&sequence->chunks, record, sizeof(*record), NULL, err);
}

int store_known(struct sequence *sequence, const struct dsfs_chunk *record, const le64 *fine, struct error *err)
{
	struct chunk chunk = chunk_of_record(record);

	if (!chunk_is_hole(&chunk))
		space_hold(sequence->space, address_offset(chunk.address), chunk.stored);
	sequence->has_frames |= chunk.codec == DSFS_CODEC_ZSTD;
	return store_record(sequence, record, fine, err);
}

int store_hole(struct sequence *sequence, struct error *err)
{
	struct dsfs_chunk record = { 0 };

	return store_record(sequence, &record, NULL, err);
}

static int store_at(struct sequence *sequence, const struct batch_chunk *chunk, uint64_t address, struct error *err)
{
	struct chunk encoded = { .address = address, .sum = chunk->sum, .stored = chunk->stored,
				 .codec = chunk->codec };
	struct dsfs_chunk record;

	chunk_encode(&encoded, &record);
	sequence->has_frames |= chunk->codec == DSFS_CODEC_ZSTD;
	return store_record(sequence, &record, chunk->fine, err);
}

int store_chunk(struct sequence *sequence, const struct batch_chunk *chunk, struct error *err)
{
	uint64_t address;
	int r;

	if (chunk->is_hole)
		return store_hole(sequence, err);
	r = writer_append(sequence->writer, chunk->bytes, chunk->stored, &address, err);
	return r < 0 ? r : store_at(sequence, chunk, address, err);
}

static bool store_fits_inline(const struct sequence *sequence, const struct item *item)
{
	return item->length <= SEQUENCE_INLINE_MAX &&
	       sequence->inline_bytes + item->length <= SEQUENCE_INLINE_TOTAL;
}

static int store_inline(struct sequence *sequence, const struct batch_chunk *chunk, struct error *err)
{
	struct batch_chunk raw = *chunk;
	uint64_t offset;
	int r;

	if (chunk->is_hole)
		return store_hole(sequence, err);
	r = mapped_append(&sequence->blob, chunk->content, chunk->length, &offset, err);
	if (r < 0)
		return r;
	sequence->inline_bytes += chunk->length;
	raw.stored = chunk->length;
	raw.codec = DSFS_CODEC_RAW;
	return store_at(sequence, &raw, address_make(DSFS_IN_INDEX, offset), err);
}

/* Bytes that the file takes on the volume, and how it is to be aligned. */
static uint64_t store_measure(const struct batch *batch, const struct item *item, enum space_align *ret_align)
{
	bool frames = false;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < item->chunk_count; i++) {
		const struct batch_chunk *chunk = &batch->chunks[item->first_chunk + i];

		bytes += chunk->stored;
		frames |= chunk->codec != DSFS_CODEC_RAW;
	}
	*ret_align = bytes < DSFS_BLOCK ? SPACE_WHOLE : frames ? SPACE_DENSE : SPACE_BLOCK;
	return bytes;
}

int store_file(struct sequence *sequence, const struct batch *batch, const struct item *item, uint64_t *ret_first,
	       struct error *err)
{
	uint64_t first = sequence_chunk_count(sequence);
	enum space_align align;
	uint64_t bytes;
	int r = 0;

	if (store_fits_inline(sequence, item)) {
		r = store_inline(sequence, &batch->chunks[item->first_chunk], err);
	} else {
		bytes = store_measure(batch, item, &align);
		if (bytes)
			r = writer_place(sequence->writer, bytes, align, err);
		for (uint32_t i = 0; r == 0 && i < item->chunk_count; i++)
			r = store_chunk(sequence, &batch->chunks[item->first_chunk + i], err);
	}
	if (r == 0)
		*ret_first = first;
	return r;
}
