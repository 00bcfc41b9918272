/* SPDX-License-Identifier: MIT */
/* Decides for each chunk whether to share it. Sharing must not scatter a file, so only runs of at least LARGE_RUN
 * contiguous chunks are shared, or shorter runs of an older version between two borders (a border is an end of the
 * file, or a hole). Chunks are held back until their run is long enough; if it ends before that, they are stored. */
#include "layout/large.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>


int large_open(struct large *large, struct holes *holes, struct store *store, struct share *share, struct error *err)
{
	uint32_t chunk_log = holes->chunk_log;

	*large = (struct large){
		.records = holes->records, .holes = holes, .store = store, .share = share, .chunk_log = chunk_log
	};
	large->run.bytes = malloc((size_t)LARGE_RUN << chunk_log);
	large->run.block_sums = calloc(LARGE_RUN, holes->records->sums.row_bytes);
	return large->run.bytes && large->run.block_sums ? 0 : error_no_memory(err);
}

void large_close(struct large *large)
{
	free(large->run.bytes);
	free(large->run.block_sums);
	*large = (struct large){ 0 };
}

static void large_begin(struct large *large, const struct item *item)
{
	large->first = records_chunk_count(large->records);
	large->size = large->left = item->attributes.size;
	large->sparse = large->reserved = large->dense = false;
	large->at_border = true;
	large->shared_bytes = large->hole_bytes = large->piece_left = 0;
	large->run.length = 0;
	holes_begin(large->holes);
}

/* Spreads a large file: each LARGE_PIECE of it goes to the member with the fewest bytes of its size class. */
static void large_choose(struct large *large, const struct batch_chunk *chunk)
{
	uint64_t piece = large->left < LARGE_PIECE ? large->left : LARGE_PIECE;

	if (chunk->length > large->piece_left) {
		large->piece_left = piece > chunk->length ? piece : chunk->length;
		allocator_choose(large->store->allocator, large->piece_left);
	}
	large->piece_left -= chunk->length;
}

/* Reserves space for the chunk: in one extent for the whole file if one is large enough, else chunk by chunk. */
static int large_reserve(struct large *large, const struct batch_chunk *chunk, struct error *err)
{
	if (!large->reserved)
		allocator_begin_large(large->store->allocator, large->size);
	large->reserved = true;
	large_choose(large, chunk);
	large->dense |= chunk->codec != DSFS_CODEC_RAW;
	return writer_reserve(large->store->writer, chunk->stored, large->dense ? SPACE_DENSE : SPACE_BLOCK, err);
}

static int large_store(struct large *large, const struct batch_chunk *chunk, struct error *err)
{
	uint64_t record;
	int r;

	r = holes_flush(large->holes, err);
	record = records_chunk_count(large->records);
	if (r == 0)
		r = large_reserve(large, chunk, err);
	if (r == 0)
		r = store_chunk(large->store, chunk, err);
	return r < 0 ? r : share_add_piece(large->share, chunk, record, err);
}

static int large_share(struct large *large, uint64_t record, const struct batch_chunk *chunk, struct error *err)
{
	struct dsfs_chunk_sha256 copy; /* of a record in an array that grows */
	int r = holes_flush(large->holes, err);

	if (r < 0)
		return r;
	memcpy(&copy, share_record(large->share, record), index_record_size(large->records->sums.kind));
	large->shared_bytes += chunk->length;
	return record & DEDUP_RECORD ? store_existing(large->store, &copy.chunk, chunk->block_sums, err) :
				       records_add_chunk(large->records, &copy.chunk, chunk->block_sums, err);
}

/* Ends the run. A long one was shared already; chunks of a short one are stored, or shared between two borders. */
static int large_end_run(struct large *large, bool at_border, struct error *err)
{
	struct large_run *run = &large->run;
	uint32_t held = run->length < LARGE_RUN ? run->length : 0;
	bool whole = at_border && run->from_border && run->first & DEDUP_RECORD;
	int r;

	run->length = 0;
	for (uint32_t i = 0; i < held; i++) {
		r = whole ? large_share(large, run->first + i, &run->held[i], err) :
			    large_store(large, &run->held[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

static void large_hold(struct large *large, const struct batch_chunk *chunk)
{
	struct large_run *run = &large->run;
	uint8_t *bytes = run->bytes + ((size_t)run->length << large->chunk_log);
	uint8_t *block_sums = run->block_sums + (size_t)run->length * large->records->sums.row_bytes;

	memcpy(bytes, chunk->bytes, chunk->stored);
	run->held[run->length] = *chunk;
	run->held[run->length].bytes = bytes;
	run->held[run->length].content = NULL;
	if (!chunk->block_sums)
		return;
	memcpy(block_sums, chunk->block_sums, sum_blocks_size(chunk->sum.kind, chunk->length));
	run->held[run->length].block_sums = block_sums;
}

/* Adds the chunk to the run, or begins one with it; shares the run from LARGE_RUN chunks on. */
static int large_extend_run(struct large *large, const struct batch_chunk *chunk, struct error *err)
{
	struct large_run *run = &large->run;
	int r;

	if (run->length < LARGE_RUN)
		large_hold(large, chunk);
	run->length++;
	if (run->length > LARGE_RUN)
		return large_share(large, run->first + run->length - 1, chunk, err);
	if (run->length < LARGE_RUN)
		return 0;
	for (uint32_t i = 0; i < LARGE_RUN; i++) {
		r = large_share(large, run->first + i, &run->held[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int large_add_hole(struct large *large, const struct item *item, uint64_t bytes, uint64_t chunks,
			  struct error *err)
{
	int r = large_end_run(large, true, err);

	large->at_border = true;
	large->sparse = true;
	large->hole_bytes += bytes;
	return r < 0 ? r : holes_add(large->holes, item, chunks, err);
}

int large_skip(struct large *large, const struct item *item, struct error *err)
{
	large->left -= item->skip;
	return large_add_hole(large, item, item->skip, item->skip >> large->chunk_log, err);
}

/* Returns 1 and a record with the same content, or 0 if there is none. */
static int large_find(const struct large *large, const struct batch_chunk *chunk, uint64_t *ret_record,
		      struct error *err)
{
	*ret_record = chunk->duplicate_of;
	if (!chunk->duplicate_of && !share_find_piece(large->share, chunk, ret_record))
		return 0;
	return share_is_same(large->share, *ret_record, chunk, err);
}

/* Returns 1 if the chunk is the same as the next one of the run on the volume, else 0. */
static int large_continues_run(const struct large *large, const struct batch_chunk *chunk, struct error *err)
{
	const struct large_run *run = &large->run;
	uint64_t next = run->first + run->length;

	return run->length && share_follows(large->share, next) ? share_is_same(large->share, next, chunk, err) : 0;
}

static int large_add_chunk(struct large *large, const struct item *item, const struct batch_chunk *chunk,
			   struct error *err)
{
	bool at_border = large->at_border;
	uint64_t found;
	int r;

	if (chunk->is_hole)
		return large_add_hole(large, item, chunk->length, 1, err);
	large->at_border = false;
	r = large_continues_run(large, chunk, err);
	if (r != 0)
		return r < 0 ? r : large_extend_run(large, chunk, err);
	r = large_end_run(large, false, err);
	if (r == 0)
		r = large_find(large, chunk, &found, err);
	if (r < 0)
		return r;
	if (r == 0)
		return large_store(large, chunk, err);
	large->run.first = found;
	large->run.from_border = at_border;
	return large_extend_run(large, chunk, err);
}

int large_add_piece(struct large *large, const struct batch *batch, const struct item *item, bool *ret_done,
		    struct error *err)
{
	int r;

	if (item->offset == 0)
		large_begin(large, item);
	for (uint32_t i = 0; i < item->result.chunk_count; i++) {
		const struct batch_chunk *chunk = &batch->chunks[item->result.first_chunk + i];

		r = large_add_chunk(large, item, chunk, err);
		if (r < 0)
			return r;
		large->left -= chunk->length;
	}
	*ret_done = large->left == 0;
	if (!*ret_done)
		return 0;
	r = large_end_run(large, true, err);
	return r < 0 ? r : holes_end(large->holes, &large->where, err);
}
