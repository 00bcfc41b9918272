/* SPDX-License-Identifier: MIT */
/* Starts the device reads of a round: one for each range, and one for each page of block checksums. */
#include "read/fetch.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/round.h"
#include "read/cached.h"
#include "read/hold.h"

static void fetch_add(struct read_range *range, void *base, uint64_t length)
{
	if (length)
		range->fetch.io.iov[range->fetch.io.iov_count++] = (struct iovec){ base, length };
}

static void fetch_add_scratch(struct read_range *range, uint64_t length)
{
	struct read_op *op = range->fetch.op;

	assert(length <= READ_SCRATCH - READ_PAGES * DSFS_BLOCK - op->scratch_used);
	fetch_add(range, op->request.scratch + op->scratch_used, length);
	op->scratch_used += round_up(length, DSFS_BLOCK);
}

/* Adds the whole blocks from the first wanted byte to the last one; gaps between chunks are in the payload, too. */
static void fetch_add_spread(struct read_range *range, uint64_t head)
{
	const struct read_op *op = range->fetch.op;
	const struct read_piece *first = &op->pieces[range->first], *last = op_last(op, range);
	uint64_t length = (uint64_t)(last->out - first->out) + last->part.want;

	fetch_add(range, first->out - head, round_up(head + length, op_align(op)));
}

/* Adds the wanted bytes run by run. The first run is widened to begin, and the last one to end, with a whole block. */
static void fetch_add_payload(struct read_range *range, uint64_t head)
{
	const struct read_op *op = range->fetch.op;
	struct iovec *run = NULL;
	int before = range->fetch.io.iov_count;

	for (unsigned i = range->first; i < range->first + range->count; i++) {
		const struct read_piece *piece = &op->pieces[i];

		if (run && (uint8_t *)run->iov_base + run->iov_len == piece->out) {
			run->iov_len += piece->part.want;
		} else {
			fetch_add(range, piece->out, piece->part.want);
			run = &range->fetch.io.iov[range->fetch.io.iov_count - 1];
		}
	}
	run = &range->fetch.io.iov[before];
	run->iov_base = (uint8_t *)run->iov_base - head;
	run->iov_len += head;
	run = &range->fetch.io.iov[range->fetch.io.iov_count - 1];
	run->iov_len = round_up(run->iov_len, op_align(op));
}

/* Decides which blocks are read, and into which buffers. */
static void fetch_lay_out_range(struct read_range *range)
{
	const struct read_op *op = range->fetch.op;
	const struct read_piece *first = &op->pieces[range->first], *last = op_last(op, range);
	uint64_t align = op_align(op);
	uint64_t from = round_down(first->from, align);
	uint64_t to = round_up(range->end, align);
	uint64_t wanted = op_wanted(first), wanted_end = op_wanted(last) + last->part.want, head = wanted % align;

	range->fetch.address = address_make(range->fetch.io.member, from);
	range->fetch.io.offset = from;
	range->fetch.io.iov_count = 0;
	if (!range->direct) {
		fetch_add_scratch(range, to - from);
		return;
	}
	fetch_add_scratch(range, wanted - head - from);
	if (op->request.is_spread)
		fetch_add_spread(range, head);
	else
		fetch_add_payload(range, head);
	fetch_add_scratch(range, to - round_up(wanted_end, align));
}

static void fetch_lay_out_page(struct read_page *page)
{
	uint64_t address = block_sums_page_address(page->fetch.op->request.version.block_sums, page->number);

	page->fetch.address = address;
	page->fetch.io.member = address_member(address);
	page->fetch.io.offset = address_offset(address);
	page->fetch.io.iov[0] = (struct iovec){ page->bytes, DSFS_BLOCK };
	page->fetch.io.iov_count = 1;
}

static void fetch_lay_out(struct read_op *op, unsigned i)
{
	if (i < op->page_count)
		fetch_lay_out_page(&op->pages[i]);
	else
		fetch_lay_out_range(&op->ranges[i - op->page_count]);
}

uint32_t fetch_copies(const struct read_fetch *fetch, uint64_t ret[DSFS_COPIES_MAX])
{
	const struct read_request *request = &fetch->op->request;
	uint32_t count = members_copies(&request->version.index->members, fetch->address, ret);

	if (!request->copy)
		return count;
	ret[0] = ret[request->copy <= count ? request->copy - 1 : 0];
	return 1;
}

static uint32_t fetch_best(const struct read_fetch *fetch, const uint64_t *copies, uint32_t count, int64_t now)
{
	struct route *route = fetch->op->reader->setup.route;
	uint32_t members[DSFS_COPIES_MAX];

	if (!route || count == 1)
		return 0;
	for (uint32_t i = 0; i < count; i++)
		members[i] = address_member(copies[i]);
	return route_choose(route, members, count, now);
}

/* Chooses the copy that should arrive first; after failures, the other copies in turn. */
static void fetch_choose_copy(struct read_fetch *fetch, int64_t now)
{
	uint64_t copies[DSFS_COPIES_MAX];
	uint32_t count = fetch_copies(fetch, copies), turn;

	if (!fetch->tries)
		fetch->first = fetch_best(fetch, copies, count, now);
	if (!fetch->tries && fetch->op->avoided == address_member(copies[fetch->first]) + 1)
		fetch->first++;
	turn = (fetch->first + fetch->tries) % count;
	fetch->io.member = address_member(copies[turn]);
	fetch->io.offset = address_offset(copies[turn]);
}

/* Chooses the cache, or a copy on the volume. */
static void fetch_choose(struct read_fetch *fetch, int64_t now)
{
	const struct cached *cached = fetch->op->reader->setup.cached;

	fetch->hits = cached && cached_takes(fetch, now);
	if (!fetch->hits) {
		fetch_choose_copy(fetch, now);
		return;
	}
	fetch->io.member = cached->member;
	fetch->io.offset = address_offset(fetch->address) + fetch->shift;
}

static bool fetch_is_suspect(const struct read_fetch *fetch, uint32_t member, int64_t now)
{
	const struct reader_setup *setup = &fetch->op->reader->setup;

	if (setup->cached && member == setup->cached->member)
		return cache_balance_is_suspect(&setup->cached->balance, now);
	return setup->route && route_is_suspect(setup->route, member, now);
}

/* Looks for another member with the bytes that is not suspect. */
static enum fetch_wait fetch_look_elsewhere(const struct read_fetch *fetch, int64_t now)
{
	uint64_t copies[DSFS_COPIES_MAX];
	uint32_t count = fetch_copies(fetch, copies);

	for (uint32_t i = 0; i < count; i++)
		if (address_member(copies[i]) != fetch->io.member &&
		    !fetch_is_suspect(fetch, address_member(copies[i]), now))
			return FETCH_STUCK;
	return FETCH_ALONE;
}

enum fetch_wait fetch_look(const struct read_fetch *fetch, int64_t now)
{
	if (fetch->state != READ_BUSY || !fetch_is_suspect(fetch, fetch->io.member, now))
		return FETCH_FINE;
	return fetch_look_elsewhere(fetch, now);
}

enum fetch_wait fetch_look_late(const struct read_fetch *fetch, int64_t now)
{
	const struct window *window = fetch->op->reader->setup.window;

	if (fetch->state != READ_BUSY || now - fetch->started < window_late(window, op_bytes(fetch)))
		return FETCH_FINE;
	return fetch_look_elsewhere(fetch, now);
}

/* Chooses the copy that should arrive first, and counts its read as begun: engine_read() follows. False: the window
 * does not let it begin. */
static bool fetch_admit(struct read_fetch *fetch, int64_t now)
{
	struct read_op *op = fetch->op;
	struct reader *reader = op->reader;

	if (fetch->tries || op->request.copy || reader->setup.route || reader->setup.cached)
		fetch_choose(fetch, now);
	if (reader->setup.window && !fetch->hits && !hold_lets(fetch, now))
		return false;
	if (!atomic_load_explicit(&op->wait.since, memory_order_relaxed))
		atomic_store_explicit(&op->wait.since, now, memory_order_release);
	if (reader->setup.route && !fetch->hits)
		route_begin(reader->setup.route, fetch->io.member, now);
	if (reader->setup.cached)
		cached_start(fetch, now);
	fetch->state = READ_BUSY;
	fetch->was_late = false;
	fetch->started = now;
	counter_add(&reader->setup.counters->device_reads, !fetch->hits);
	return true;
}

/* False: its turn has come, but it cannot begin. It may be gone when this returns true. */
static bool fetch_begin_held(struct read_fetch *fetch, int64_t now)
{
	const struct reader *reader = fetch->op->reader;
	int64_t since = fetch->started;

	if (op_is_unwanted(fetch->op)) {
		fetch->io.done(&fetch->io, -ECANCELED);
		return true;
	}
	if (!fetch_admit(fetch, now))
		return false;
	counter_add(&reader->setup.counters->held, 1);
	counter_add(&reader->setup.counters->held_time, (uint64_t)(now - since));
	engine_read(reader->engine, &fetch->io);
	return true;
}

/* A read may end while it begins, and start this again. */
void fetch_start_held(struct reader *reader)
{
	struct read_fetch *fetch;
	int64_t now = clock_now();

	if (reader->hold.is_starting || !reader->hold.first)
		return;
	reader->hold.is_starting = true;
	hold_drop_suspects(reader, now);
	while ((fetch = list_pop(reader->hold.first, after))) {
		if (fetch_begin_held(fetch, now))
			continue;
		list_push(reader->hold.first, fetch, after);
		break;
	}
	hold_tell(reader);
	reader->hold.is_starting = false;
}

void fetch_start(struct read_op *op, void (*done)(struct io_read *io, int result))
{
	struct reader *reader = op->reader;
	int64_t now = clock_now();

	for (unsigned i = 0; i < op->page_count + op->range_count; i++) {
		struct read_fetch *fetch = op_fetch(op, i);

		if (fetch->state != READ_READY)
			continue;
		if (i < op->page_count)
			counter_add(&reader->setup.counters->block_sums_reads, 1);
		if (!fetch->io.iov_count) /* else it is read once more, or see cached_miss() */
			fetch_lay_out(op, i);
		fetch->io.done = done;
		op->pending++;
		if ((reader->hold.first && !fetch->may_hit) || !fetch_admit(fetch, now))
			hold_add(fetch, now);
		else
			engine_read(reader->engine, &fetch->io);
	}
}
