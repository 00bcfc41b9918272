/* SPDX-License-Identifier: MIT */
/* Joins chunks into runs. Anything that does not fill whole blocks of its own is copied. */
#include "erofs/erofs_runs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/round.h"
#include "erofs/erofs_format.h"
#include "image/members/address.h"

static bool runs_continue(const struct erofs_run *run, const struct erofs_run *next)
{
	if (run->kind != next->kind)
		return false;
	return run->kind != EROFS_RUN_VOLUME ||
	       (run->member == next->member && run->where + run->count == next->where);
}

static int runs_add(struct erofs_runs *runs, struct erofs_run run, struct error *err)
{
	struct erofs_run *last = runs->count ? &runs->list[runs->count - 1] : NULL;
	int r;

	run.block = last ? last->block + last->count : 0;
	if (!run.count)
		return 0;
	if (last && runs_continue(last, &run)) {
		last->count += run.count;
		return 0;
	}
	r = grow(runs->list, runs->room, runs->count + 1, err);
	if (r < 0)
		return r;
	runs->list[runs->count++] = run;
	return 0;
}

static int runs_add_chunk(struct erofs_runs *runs, const struct chunk *chunk, bool is_copied, struct error *err)
{
	uint64_t blocks = round_up(chunk->length, EROFS_BLOCK) / EROFS_BLOCK;
	struct erofs_run run = { EROFS_RUN_VOLUME, .count = blocks - is_copied,
				 .member = address_member(chunk->address),
				 .where = address_offset(chunk->address) / EROFS_BLOCK };
	struct erofs_run copy = { EROFS_RUN_COPY, .count = is_copied };
	int r = runs_add(runs, run, err);

	return r < 0 ? r : runs_add(runs, copy, err);
}

int erofs_runs_maps(const struct chunk *chunk, bool *ret, struct error *err)
{
	*ret = false;
	if (chunk->codec != DSFS_CODEC_RAW)
		return error_set(err, -EOPNOTSUPP, "some of its content is compressed, which the kernel's EROFS "
						   "cannot read: pack it without --compress");
	*ret = !chunk_is_inline(chunk) && chunk->length >= EROFS_BLOCK && chunk->address % EROFS_BLOCK == 0;
	return 0;
}

/* Adds the runs of a data chunk. Sets *some_is_copied if some of it is copied, and leaves it alone otherwise. */
static int runs_add_data(struct erofs_runs *runs, const struct chunk *chunk, bool end_is_shared, bool *some_is_copied,
			 struct error *err)
{
	struct erofs_run copy = { EROFS_RUN_COPY, .count = round_up(chunk->length, EROFS_BLOCK) / EROFS_BLOCK };
	bool is_mapped = false, is_copied;
	int r = erofs_runs_maps(chunk, &is_mapped, err);

	if (r < 0)
		return r;
	is_copied = !is_mapped || (chunk->length % EROFS_BLOCK && end_is_shared);
	*some_is_copied |= is_copied;
	return is_mapped ? runs_add_chunk(runs, chunk, is_copied, err) : runs_add(runs, copy, err);
}

int erofs_runs_find(struct erofs_runs *runs, const struct index *index, const struct inode *inode,
		    bool end_is_shared, bool *ret_is_copied, struct error *err)
{
	uint64_t count = inode_chunk_count(index, inode), alike;
	struct chunk chunk;
	int r = 0;

	runs->count = 0;
	*ret_is_copied = false;
	for (uint64_t i = 0; r == 0 && i < count; i += alike) {
		r = chunk_get_run(index, inode, i, &chunk, &alike, err);
		if (r < 0)
			return r;
		if (chunk_is_hole(&chunk))
			r = runs_add(runs,
				     (struct erofs_run){
					     EROFS_RUN_HOLE,
					     .count = round_up(chunk_run_bytes(index, inode, i, alike), EROFS_BLOCK) /
						      EROFS_BLOCK },
				     err);
		else
			r = runs_add_data(runs, &chunk, end_is_shared, ret_is_copied, err);
	}
	return r;
}

void erofs_runs_free(struct erofs_runs *runs)
{
	free(runs->list);
	*runs = (struct erofs_runs){ 0 };
}

uint32_t erofs_runs_chunk_log(const struct erofs_runs *runs)
{
	const struct erofs_run *last = &runs->list[runs->count - 1];
	uint64_t blocks = last->block + last->count;
	uint32_t log = 0;

	while (log < EROFS_CHUNK_BITS_MAX && UINT64_C(1) << log < blocks)
		log++;
	for (size_t i = 1; i < runs->count; i++)
		while (runs->list[i].block & ((UINT64_C(1) << log) - 1))
			log--;
	return log;
}

const struct erofs_run *erofs_runs_at(const struct erofs_runs *runs, uint64_t block, size_t *cursor)
{
	while (block - runs->list[*cursor].block >= runs->list[*cursor].count)
		++*cursor;
	return &runs->list[*cursor];
}
