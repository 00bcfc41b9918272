/* SPDX-License-Identifier: MIT */
/* Asks the store for each chunk, and a route of two what to expect of a read. */
#include "read/cached.h"

#include <stdlib.h>

#include "base/hash.h"
#include "read/hold.h"
#include "tier/chunks.h"

#define CACHED_STEP  (1u << 24)               /* a slow read makes the part grow by 1/256 */
#define CACHED_SLOWS (16u * CACHED_STEP)      /* and this is none yet: any read may be slow on a busy machine */
#define CACHED_MOST  (UINT32_MAX / 16u * 15u) /* some reads always try the cache */

enum { CACHED_VOLUME, CACHED_STORE, CACHED_PLACES };

int cached_new(struct store *store, uint32_t member, struct cached **ret, struct error *err)
{
	struct cached *cached = calloc(1, sizeof(*cached));
	int r;

	if (!cached)
		return error_no_memory(err);
	cached->store = store;
	cached->member = member;
	r = route_new(CACHED_PLACES, &cached->route, err);
	if (r < 0)
		free(cached);
	else
		*ret = cached;
	return r;
}

void cached_free(struct cached *cached)
{
	if (!cached)
		return;
	route_free(cached->route);
	free(cached);
}

/* ---- which chunks ---- */

static bool cached_has_all(const struct cached *cached, const struct read_request *request)
{
	uint64_t place;

	for (uint32_t i = 0; i < request->chunk_count; i++)
		if (!chunk_is_inline(&request->chunks[i]) &&
		    !chunks_find(cached->store, &request->chunks[i], &place))
			return false;
	return true;
}

/* Chunks that are spread lie in the payload with what is between them on the volume, which the cache does not have. A
 * list of somebody who reads neighbours comes from one place: it is one read of the volume, and many without a few of
 * its chunks. */
void cached_begin(struct read_op *op)
{
	const struct reader_setup *setup = &op->reader->setup;
	const struct read_request *request = &op->request;

	if (!setup->cached || request->copy || request->is_spread)
		op->may_hit = false;
	else if (request->chunks)
		op->may_hit = setup->keeps || cached_has_all(setup->cached, request);
	else
		op->may_hit = request->inode.size <= READ_MAX;
}

bool cached_find(const struct read_op *op, const struct read_piece *piece, uint64_t *ret_shift)
{
	const struct chunk *chunk = &piece->part.chunk;
	uint64_t place;

	if (!op->may_hit || piece->page || !chunks_find(op->reader->setup.cached->store, chunk, &place))
		return false;
	*ret_shift = place - address_offset(chunk->address);
	return true;
}

static uint64_t cached_place(const struct read_range *range, const struct chunk *chunk)
{
	return address_offset(chunk->address) + range->fetch.shift;
}

/* ---- which reads ---- */

bool cached_is_suspect(const struct cached *cached, int64_t now)
{
	return route_is_suspect(cached->route, CACHED_STORE, now);
}

/* Whether the volume makes this read, so that the two share what one cannot do. */
static bool cached_is_beside(struct cached *cached)
{
	uint32_t beside = atomic_load_explicit(&cached->beside, memory_order_relaxed), turn;

	if (beside <= CACHED_SLOWS)
		return false;
	turn = atomic_fetch_add_explicit(&cached->turn, 1, memory_order_relaxed) + 1;
	return hash_spread(turn) >> 32 < beside - CACHED_SLOWS;
}

bool cached_takes(const struct read_fetch *fetch, int64_t now)
{
	struct cached *cached = fetch->op->reader->setup.cached;

	if (!fetch->may_hit)
		return false;
	if (cached_is_suspect(cached, now))
		return route_probes(cached->route, CACHED_STORE, now);
	return !cached_is_beside(cached);
}

void cached_start(const struct read_fetch *fetch, int64_t now)
{
	route_begin(fetch->op->reader->setup.cached->route, fetch->hits ? CACHED_STORE : CACHED_VOLUME, now);
}

/* Time in which the reader's thread had no CPU, or other work, is no delay of the drive. */
static bool cached_is_slow(struct reader *reader, int64_t took, int64_t now)
{
	int64_t volume = route_latency(reader->setup.cached->route, CACHED_VOLUME, now);
	int64_t least = CACHED_TIMES * volume > CACHED_SLOW ? CACHED_TIMES * volume : CACHED_SLOW;

	return took > least && took - hold_own(reader, took, now) > least;
}

static void cached_learn(struct reader *reader, int64_t took, int64_t now)
{
	struct cached *cached = reader->setup.cached;
	uint32_t beside = atomic_load_explicit(&cached->beside, memory_order_relaxed), next;

	if (cached_is_slow(reader, took, now))
		next = beside < CACHED_MOST ? beside + CACHED_STEP : beside;
	else
		next = beside > 4 * CACHED_STEP ? beside - 4 * CACHED_STEP : 0;
	if (next != beside)
		atomic_store_explicit(&cached->beside, next, memory_order_relaxed);
}

void cached_end(const struct read_fetch *fetch, int64_t now)
{
	struct cached *cached = fetch->op->reader->setup.cached;

	/* A read that is short or empty, as the file was cut off, is no failure of the drive. */
	route_end(cached->route, fetch->hits ? CACHED_STORE : CACHED_VOLUME, fetch->started, now,
		  fetch->result == 0 ? 1 : fetch->result);
	if (fetch->hits && fetch->result > 0)
		cached_learn(fetch->op->reader, now - fetch->started, now);
}

/* ---- what came ---- */

void cached_hit(struct read_op *op, const struct read_range *range)
{
	struct reader_counters *counters = op->reader->setup.counters;

	chunks_hit(op->reader->setup.cached->store, cached_place(range, &op->pieces[range->first].part.chunk));
	counter_add(&counters->local_hits, 1);
	counter_add(&counters->local_bytes, (uint64_t)range->fetch.result);
}

void cached_miss(struct read_op *op, struct read_range *range)
{
	for (unsigned i = range->first; i < range->first + range->count; i++) {
		const struct chunk *chunk = &op->pieces[i].part.chunk;

		chunks_forget(op->reader->setup.cached->store, chunk, cached_place(range, chunk));
	}
	counter_add(&op->reader->setup.counters->local_errors, 1);
	range->fetch.may_hit = range->fetch.hits = false;
}

void cached_keep(struct read_op *op, const struct read_piece *piece, const struct iovec *parts, int count)
{
	const struct reader_setup *setup = &op->reader->setup;

	if (op->may_hit && setup->keeps && !piece->page && store_accepts(setup->cached->store))
		chunks_add(setup->cached->store, &piece->part.chunk, parts, count);
}
