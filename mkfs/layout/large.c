/* SPDX-License-Identifier: MIT */
/* Sharing must not scatter a file: only runs of SEQUENCE_RUN chunks or more that lie together are shared, and shorter
 * ones of an earlier version that reach from border to border (the ends of the file, holes). Until a run is that long
 * its chunks are held back, and stored after all when it ends too early. */
#include "layout/large.h"

#include <string.h>

#include "content/key.h"
#include "image/address.h"
#include "layout/share.h"
#include "layout/store.h"

static void large_begin(struct sequence *sequence, const struct item *item)
{
	sequence->large_first = sequence_chunk_count(sequence);
	sequence->large_size = sequence->large_left = item->attributes.size;
	sequence->large_sparse = sequence->large_placed = sequence->large_dense = false;
	sequence->large_border = true;
	sequence->run.length = 0;
	holes_begin(sequence);
}

/* All of the file in one run of free space if there is one with so much room, else chunk by chunk. */
static int large_place(struct sequence *sequence, const struct batch_chunk *chunk, struct error *err)
{
	if (!sequence->large_placed)
		space_prefer(sequence->space, sequence->large_size);
	sequence->large_placed = true;
	sequence->large_dense |= chunk->codec != DSFS_CODEC_RAW;
	return writer_place(sequence->writer, chunk->stored, sequence->large_dense ? SPACE_DENSE : SPACE_BLOCK, err);
}

static int large_store(struct sequence *sequence, const struct batch_chunk *chunk, struct error *err)
{
	struct table_key key = key_of_chunk(chunk->sum, chunk->length);
	uint64_t record, other;
	int r;

	r = holes_flush(sequence, err);
	record = sequence_chunk_count(sequence);
	if (r == 0)
		r = large_place(sequence, chunk, err);
	if (r == 0)
		r = store_chunk(sequence, chunk, err);
	if (r < 0 || table_find(&sequence->pieces, key, &other))
		return r;
	return table_add(&sequence->pieces, key, record, err);
}

static int large_share(struct sequence *sequence, uint64_t record, const struct batch_chunk *chunk, struct error *err)
{
	struct dsfs_chunk copy = *share_record(sequence, record);
	int r = holes_flush(sequence, err);

	if (r < 0)
		return r;
	sequence->counts.shared_bytes += chunk->length;
	return record & KNOWN_RECORD ? store_known(sequence, &copy, chunk->fine, err) :
				       store_record(sequence, &copy, chunk->fine, err);
}

/* A run that ended: long ones were shared already, short ones are stored. */
static int large_end_run(struct sequence *sequence, bool at_border, struct error *err)
{
	struct sequence_run *run = &sequence->run;
	uint32_t held = run->length < SEQUENCE_RUN ? run->length : 0;
	bool whole = at_border && run->from_border && run->first & KNOWN_RECORD;
	int r;

	run->length = 0;
	for (uint32_t i = 0; i < held; i++) {
		r = whole ? large_share(sequence, run->first + i, &run->held[i], err) :
			    large_store(sequence, &run->held[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

static void large_hold(struct sequence *sequence, const struct batch_chunk *chunk)
{
	struct sequence_run *run = &sequence->run;
	uint8_t *bytes = run->bytes + ((size_t)run->length << sequence->chunk_log);
	le64 *fine = run->fine + ((size_t)run->length << (sequence->chunk_log - DSFS_CHUNK_LOG_MIN));

	memcpy(bytes, chunk->bytes, chunk->stored);
	run->held[run->length] = *chunk;
	run->held[run->length].bytes = bytes;
	run->held[run->length].content = NULL;
	if (!chunk->fine)
		return;
	memcpy(fine, chunk->fine, round_up(chunk->length, DSFS_BLOCK) / DSFS_BLOCK * sizeof(*fine));
	run->held[run->length].fine = fine;
}

/* The chunk continues the run, or begins one. */
static int large_extend_run(struct sequence *sequence, const struct batch_chunk *chunk, struct error *err)
{
	struct sequence_run *run = &sequence->run;
	int r;

	if (run->length < SEQUENCE_RUN)
		large_hold(sequence, chunk);
	run->length++;
	if (run->length > SEQUENCE_RUN)
		return large_share(sequence, run->first + run->length - 1, chunk, err);
	if (run->length < SEQUENCE_RUN)
		return 0;
	for (uint32_t i = 0; i < SEQUENCE_RUN; i++) {
		r = large_share(sequence, run->first + i, &run->held[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int large_hole(struct sequence *sequence, uint64_t bytes, uint64_t chunks, struct error *err)
{
	int r = large_end_run(sequence, true, err);

	sequence->large_border = true;
	sequence->large_sparse = true;
	sequence->counts.hole_bytes += bytes;
	holes_add(sequence, chunks);
	return r;
}

int large_skip(struct sequence *sequence, const struct item *item, struct error *err)
{
	sequence->large_left -= item->skip;
	return large_hole(sequence, item->skip, item->skip >> sequence->chunk_log, err);
}

static int large_chunk(struct sequence *sequence, const struct batch_chunk *chunk, struct error *err)
{
	struct table_key key = key_of_chunk(chunk->sum, chunk->length);
	bool border = sequence->large_border;
	struct sequence_run *run = &sequence->run;
	uint64_t next = run->first + run->length, found;
	int r;

	if (chunk->is_hole)
		return large_hole(sequence, chunk->length, 1, err);
	sequence->large_border = false;
	if (run->length && share_follows(sequence, next)) {
		r = share_is_same(sequence, next, chunk, err);
		if (r != 0)
			return r < 0 ? r : large_extend_run(sequence, chunk, err);
	}
	r = large_end_run(sequence, false, err);
	if (r < 0)
		return r;
	if (chunk->known)
		found = chunk->known;
	else if (!table_find(&sequence->pieces, key, &found))
		return large_store(sequence, chunk, err);
	r = share_is_same(sequence, found, chunk, err);
	if (r < 0)
		return r;
	if (r == 0)
		return large_store(sequence, chunk, err);
	run->first = found;
	run->from_border = border;
	return large_extend_run(sequence, chunk, err);
}

int large_piece(struct sequence *sequence, const struct batch *batch, const struct item *item, bool *ret_done,
		struct error *err)
{
	int r;

	if (item->offset == 0)
		large_begin(sequence, item);
	for (uint32_t i = 0; i < item->chunk_count; i++) {
		const struct batch_chunk *chunk = &batch->chunks[item->first_chunk + i];

		r = large_chunk(sequence, chunk, err);
		if (r < 0)
			return r;
		sequence->large_left -= chunk->length;
	}
	*ret_done = sequence->large_left == 0;
	if (!*ret_done)
		return 0;
	r = large_end_run(sequence, true, err);
	return r < 0 ? r : holes_end(sequence, &sequence->large_where, err);
}
