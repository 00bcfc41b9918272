/* SPDX-License-Identifier: MIT */
/* The path of a read, top to bottom: split, start, settle, finish. A request is cut into pieces, one per chunk; pieces
 * that are adjacent on the device become one range, and a range is one device read. Reads cover whole blocks, and
 * whole chunks, because only those can be verified:
 *
 *      device   |--block--|--block--|--block--|--block--|
 *      chunks        [ chunk a      |  chunk b     ]
 *      wanted                 <------------>
 *      read into     scratch  payload       scratch       (direct: wanted bytes start on a block)
 *                or  all of it into scratch, then copied   (packed small files, compressed chunks)
 *
 * A chunk that is wanted only in part may have a row of block checksums, one for each of its blocks
 * (image/catalogue/block_sums.h). Then the wanted blocks are enough, and the page with the row is read too if no cache
 * has it:
 *
 *      chunk    [  |  |  |  |  |  |  |  ]    page of sums  [.. row of the chunk ..]
 *      wanted           <----->
 *      read            [  |  |  ]                           all of it, into scratch
 *
 * When all ranges of a round have arrived, each piece is checked. A range that failed or does not match is read once
 * more, from the next copy where there are several; then whole chunks are read instead of blocks; then the request
 * fails with EIO and a line in the log. No byte leaves before all of them are verified. Of a list of chunks, the ones
 * that were read together and are not right are read again, each by itself, and the request goes on without those that
 * stay wrong.
 *
 * When the path to the device failed, and not the data, the request is parked, and the owner of the reader retries it
 * once a second until the deadline. A device read that does not return keeps its memory: at the deadline another thread
 * answers the request, and the read ends here when the device lets go (READ_DROP). If other members have the bytes
 * that one member does not return, the owner need not wait for the deadline: it leaves the read (read_leave()) with the
 * memory that the device has, and begins it again in other memory (serve/request/content.c). */
#include "read/read.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "read/cached.h"
#include "read/fetch.h"
#include "read/hold.h"
#include "read/park.h"
#include "read/settle.h"
#include "read/split.h"

/* Counts a read that ends, for done(). */
static void read_count(struct read_op *op, int64_t result)
{
	struct reader_counters *counters = op->reader->setup.counters;
	bool is_whole = (result >= 0 && !op->lost) || result == -ECANCELED;
	bool is_counted = is_whole || !op->request.is_ahead;

	atomic_store_explicit(&op->wait.since, 0, memory_order_relaxed);
	if (is_counted && op->mismatches) {
		counter_add(&counters->checksum_failures, op->mismatches);
		counter_stamp(&counters->error_at);
	}
	if (is_counted && !is_whole) {
		counter_add(&counters->failures, 1);
		counter_stamp(&counters->failed_at);
	}
}

/* Begins the request again, with whole chunks. */
static void read_fall_back(struct read_op *op, const struct error *err)
{
	const struct reader_events *events = op->reader->setup.events;

	if (events->fell_back)
		events->fell_back(op, err);
	counter_add(&op->reader->setup.counters->block_sums_failures, 1);
	op_drop_claims(op);
	op->whole = true;
	split_begin(op, op->request.offset, op->size);
}

/* The next step of a read, while none of its device reads is in flight. READ_DROP: it is not wanted, as its process was
 * killed, or the deadline came first. */
enum read_next { READ_FETCH, READ_PARK, READ_FAIL, READ_DROP, READ_END };

/* Reports and counts the end of a read. Returns its result for done(). The device's ECANCELED becomes EIO, because our
 * -ECANCELED means not wanted. */
static int64_t read_end(struct read_op *op, enum read_next how, const struct read_piece *piece, const struct error *err)
{
	int64_t result = how == READ_DROP ? -ECANCELED : (int64_t)(op->size - op->lost);

	if (how == READ_FAIL) {
		op->reader->setup.events->failed(op, piece ? &piece->part.chunk : NULL, err);
		result = err->code == -ECANCELED ? -EIO : err->code;
	}
	if (how != READ_END)
		op_drop_claims(op);
	read_count(op, result);
	return result;
}

/* Checks the ranges that have arrived and splits the next ones. READ_FAIL: *ret_piece is the piece to blame, if any. */
static enum read_next read_step(struct read_op *op, const struct read_piece **ret_piece, struct error *err)
{
	bool again = false;
	int r;

	if (op_is_unwanted(op))
		return READ_DROP;
	r = settle_round(op, &again, ret_piece, err);
	if (r < 0 && op->page_count)
		read_fall_back(op, err);
	else if (r < 0)
		return READ_FAIL;
	else if (again)
		return op->wait.to_park ? READ_PARK : READ_FETCH;
	else /* it made progress */
		atomic_store_explicit(&op->wait.since, 0, memory_order_relaxed);
	*ret_piece = NULL;
	if (op->has_apart) {
		split_apart(op);
		return op_is_unwanted(op) ? READ_DROP : READ_FETCH;
	}
	if (op->split == op->size && !op->has_late)
		return READ_END;
	return split_round(op, err) < 0 ? READ_FAIL : READ_FETCH;
}

static void read_done(struct io_read *io, int result);

/* Goes on until a device read is in flight, or the request is parked or answered. */
static void read_advance(struct read_op *op)
{
	const struct read_piece *piece = NULL;
	enum read_next next;
	struct error err;

	error_clear(&err);
	do {
		next = read_step(op, &piece, &err);
		if (next == READ_PARK) {
			park_add(op);
			return;
		}
		if (next != READ_FETCH) {
			op->request.done(op, read_end(op, next, piece, &err)); /* op may be another read then */
			return;
		}
		op->pending = 1; /* ours: completions during the start must not get ahead of us */
		fetch_start(op, read_done);
	} while (--op->pending == 0);
}

/* Lets the owner know what its thread works on. False: it need not be told of the end of that, as the read was left and
 * has no request any more. */
static bool read_works(struct read_op *op)
{
	const struct reader_events *events = op->reader->setup.events;
	bool is_told = events->works && !op->left_to;

	if (is_told)
		events->works(op);
	return is_told;
}

static void read_retry_one(struct read_op *op)
{
	struct error err = { 0 };

	if (op_is_unwanted(op)) {
		op->request.done(op, read_end(op, READ_DROP, NULL, &err));
	} else if (op->reader->ending || park_is_overdue(op)) {
		error_set(&err, op->wait.path_error, "the device says: %s, gave up after %" PRId64 " s",
			  strerror(-op->wait.path_error), (clock_now() - atomic_load(&op->wait.since)) / 1000000000);
		op->request.done(op, read_end(op, READ_FAIL, NULL, &err));
	} else {
		op->pending = 1;
		fetch_start(op, read_done);
		if (--op->pending == 0)
			read_advance(op);
	}
}

void read_retry(struct reader *reader)
{
	struct read_op *op = park_take(reader), *next;
	bool is_told;

	for (; op; op = next) {
		next = op->wait.next;
		is_told = read_works(op);
		read_retry_one(op);
		if (is_told)
			reader->setup.events->rests(reader);
	}
}

void read_give_up(struct reader *reader)
{
	reader->ending = true;
	read_retry(reader);
}

/* look() says of each device read whether it waits, and whether another member has the bytes. */
static bool read_may_be_left(const struct read_op *op, int64_t now,
			     enum fetch_wait (*look)(const struct read_fetch *fetch, int64_t now))
{
	bool is_stuck = false;
	enum fetch_wait wait;

	if (!op->pending || (!op->reader->setup.route && !op->reader->setup.cached) || op->request.copy)
		return false;
	for (unsigned i = 0; i < op->page_count + op->range_count; i++) {
		const struct read_range *range = i < op->page_count ? NULL : &op->ranges[i - op->page_count];
		const struct read_fetch *fetch = range ? &range->fetch : &op->pages[i].fetch;

		wait = look(fetch, now);
		if (wait == FETCH_ALONE ||
		    (range && range->direct && fetch->state == READ_BUSY && op->request.keeps_payload))
			return false;
		is_stuck |= wait == FETCH_STUCK;
	}
	return is_stuck;
}

bool read_is_stuck(const struct read_op *op, int64_t now)
{
	return read_may_be_left(op, now, fetch_look);
}

bool read_is_late(const struct read_op *op, int64_t now)
{
	return read_may_be_left(op, now, fetch_look_late);
}

void read_leave(struct read_op *op)
{
	static const _Atomic uint64_t nobody;

	op->request.wanted = &nobody;
	op->left_to = op->reader->engine;
	for (unsigned i = 0; i < op->page_count + op->range_count; i++)
		op->left_to->left += op_fetch(op, i)->state == READ_BUSY;
	op_drop_claims(op);
	atomic_store_explicit(&op->wait.since, 0, memory_order_relaxed);
}

/* A removed block device has size 0, so every read is at its end, which the kernel does not call an error. */
static int read_result(const struct read_fetch *fetch, int result)
{
	const struct file_geometry *geometry = fetch->op->reader->setup.geometry;

	return result == 0 && !fetch->hits && file_is_block_device(&geometry[fetch->io.member]) ? -ENODEV : result;
}

/* A read that the device has ended. */
static void read_account(struct read_fetch *fetch)
{
	const struct reader_setup *setup = &fetch->op->reader->setup;
	int64_t now = clock_now();

	if (setup->window)
		hold_end(fetch, now);
	if (setup->cached)
		cached_end(fetch, now);
	if (fetch->op->left_to)
		fetch->op->left_to->left--;
	if (fetch->hits)
		return;
	if (setup->route)
		route_end(setup->route, fetch->io.member, fetch->started, now, fetch->result);
	counter_span(&setup->counters->device_latency, now - fetch->started);
	if (fetch->result > 0)
		counter_add(&setup->counters->device_bytes, (uint64_t)fetch->result);
}

static void read_done(struct io_read *io, int result)
{
	struct read_fetch *fetch = (struct read_fetch *)io; /* its first member */
	struct read_op *op = fetch->op;
	struct reader *reader = op->reader; /* op may be another read at the end */
	bool was_held = fetch->state == READ_HELD, is_told;

	fetch->result = read_result(fetch, result);
	fetch->state = READ_ARRIVED;
	if (!was_held)
		read_account(fetch);
	if (--op->pending == 0) {
		is_told = read_works(op);
		read_advance(op);
		if (is_told)
			reader->setup.events->rests(reader);
	}
	if (reader->hold.first)
		fetch_start_held(reader);
}

int64_t read_look(struct reader *reader)
{
	if (!reader->hold.first)
		return 0;
	fetch_start_held(reader);
	return hold_pause(reader, clock_now());
}

void read_move(struct io_read *io)
{
	const struct read_op *op = ((const struct read_fetch *)io)->op; /* its first member */

	if (op->left_to)
		read_done(io, -ECANCELED);
	else
		engine_read(op->reader->engine, io);
}

void read_begin(struct reader *reader, struct read_op *op)
{
	op->reader = reader;
	op->whole = op->wait.to_park = false;
	op->left_to = NULL;
	op->mismatches = op->unsteady = 0;
	atomic_store_explicit(&op->wait.since, 0, memory_order_relaxed);
	split_begin(op, op->request.offset, op->request.size);
	read_advance(op);
}
