/* SPDX-License-Identifier: MIT */
/* Asks the store for each chunk, and cache_balance.h where a read of it goes. */
#include "cache/store.h"
#include "read/cached.h"

#include <stdlib.h>

#include "read/hold.h"

int cached_borrow(struct view *view, uint32_t member, struct cached **ret, struct error *err)
{
	struct cached *cached = calloc(1, sizeof(*cached));
	int r;

	if (!cached)
		return error_no_memory(err);
	cached->view = view;
	cached->member = member;
	atomic_store(&cached->uses, 1);
	r = cache_balance_open(&cached->balance, err);
	if (r < 0)
		free(cached);
	else
		*ret = cached;
	return r;
}

int cached_new(struct store *store, uint32_t member, struct cached **ret, struct error *err)
{
	int r = cached_borrow(&store->view, member, ret, err);

	if (r == 0)
		(*ret)->store = store;
	return r;
}

struct cached *cached_use(struct cached *cached)
{
	if (cached)
		atomic_fetch_add(&cached->uses, 1);
	return cached;
}

void cached_free(struct cached *cached)
{
	if (!cached || atomic_fetch_sub(&cached->uses, 1) != 1)
		return;
	if (!cached->store)
		view_return(cached->view);
	cache_balance_close(&cached->balance);
	free(cached);
}

/* ---- which chunks ---- */

static bool cached_has_all(const struct cached *cached, const struct chunk *chunks, uint32_t count)
{
	uint64_t place;

	for (uint32_t i = 0; i < count; i++)
		if (!chunk_is_inline(&chunks[i]) && !chunk_is_hole(&chunks[i]) &&
		    !view_find(cached->view, &chunks[i], &place))
			return false;
	return true;
}

bool cached_has(const struct cached *cached, const struct chunk *chunks, uint32_t count, int64_t now)
{
	return !cache_balance_is_suspect(&cached->balance, now) && cached_has_all(cached, chunks, count);
}

/* Spread chunks lie in the payload with the gaps of the volume between them, which the cache does not have. A list of
 * neighbours comes from one place: it is one read of the volume, and many without a few of its chunks. */
void cached_begin(struct read_op *op)
{
	const struct reader_setup *setup = &op->reader->setup;
	const struct read_request *request = &op->request;

	if (!setup->cached || request->copy || request->is_spread)
		op->may_hit = false;
	else if (request->chunks)
		op->may_hit = setup->keeps || cached_has_all(setup->cached, request->chunks, request->chunk_count);
	else
		op->may_hit = request->inode.size <= READ_MAX;
}

bool cached_find(const struct read_op *op, const struct read_piece *piece, uint64_t *ret_shift)
{
	const struct chunk *chunk = &piece->part.chunk;
	uint64_t place;

	if (!op->may_hit || piece->page || !view_find(op->reader->setup.cached->view, chunk, &place))
		return false;
	*ret_shift = place - address_offset(chunk->address);
	return true;
}

static uint64_t cached_place(const struct read_range *range, const struct chunk *chunk)
{
	return address_offset(chunk->address) + range->fetch.shift;
}

/* ---- which reads ---- */

bool cached_takes(const struct read_fetch *fetch, int64_t now)
{
	return fetch->may_hit && cache_balance_takes(&fetch->op->reader->setup.cached->balance, now);
}

static enum cache_balance_place cached_where(const struct read_fetch *fetch)
{
	return fetch->hits ? BALANCE_CACHE : BALANCE_VOLUME;
}

void cached_start(const struct read_fetch *fetch, int64_t now)
{
	route_begin(fetch->op->reader->setup.cached->balance.route, cached_where(fetch), now);
}

/* Time in which the reader's thread had no CPU, or other work, is no delay of the drive. */
static bool cached_is_slow(struct reader *reader, int64_t took, int64_t now)
{
	int64_t limit = cache_balance_limit(&reader->setup.cached->balance, now);

	return took > limit && took - hold_own(reader, took, now) > limit;
}

void cached_end(const struct read_fetch *fetch, int64_t now)
{
	struct reader *reader = fetch->op->reader;
	struct cache_balance *balance = &reader->setup.cached->balance;

	/* A read that is short or empty, as the file was cut off, is no failure of the drive. */
	route_end(balance->route, cached_where(fetch), fetch->started, now, fetch->result == 0 ? 1 : fetch->result);
	if (fetch->hits && fetch->result > 0)
		cache_balance_learn(balance, cached_is_slow(reader, now - fetch->started, now), fetch->started, now);
}

/* ---- what came ---- */

void cached_hit(struct read_op *op, const struct read_range *range)
{
	struct reader_counters *counters = op->reader->setup.counters;

	view_hit(op->reader->setup.cached->view, cached_place(range, &op->pieces[range->first].part.chunk));
	counter_add(&counters->local_hits, 1);
	counter_add(&counters->local_bytes, (uint64_t)range->fetch.result);
}

void cached_miss(struct read_op *op, struct read_range *range)
{
	for (unsigned i = range->first; i < range->first + range->count; i++) {
		const struct chunk *chunk = &op->pieces[i].part.chunk;

		view_forget(op->reader->setup.cached->view, chunk, cached_place(range, chunk));
	}
	counter_add(&op->reader->setup.counters->local_errors, 1);
	range->fetch.may_hit = range->fetch.hits = false;
}

void cached_keep(struct read_op *op, const struct read_piece *piece, const struct iovec *parts, int count)
{
	const struct reader_setup *setup = &op->reader->setup;

	if (op->may_hit && setup->keeps && !piece->page && store_accepts(setup->cached->store))
		store_add(setup->cached->store, &piece->part.chunk, parts, count);
}
