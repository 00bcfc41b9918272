/* SPDX-License-Identifier: MIT */
/* The way of a read, top to bottom: plan, start, settle, finish. A request is cut into pieces, one per chunk;
 * pieces that lie next to each other on the device become one range, and a range is one device read. Whole
 * blocks are read around what is wanted, and whole chunks, as only those can be verified:
 *
 *      device   |--block--|--block--|--block--|--block--|
 *      chunks        [ chunk a      |  chunk b     ]
 *      wanted                 <------------>
 *      read into     scratch  payload       scratch       (direct: wanted bytes start on a block)
 *                or  all of it into scratch, then copied   (packed small files, compressed chunks)
 *
 * A chunk wanted in part may have a row of fine sums, one for each of its blocks (image/fine.h): then the blocks
 * that hold what is wanted are enough, and the page that has the row is read beside them if no cache has it:
 *
 *      chunk    [  |  |  |  |  |  |  |  ]    page of sums  [.. row of the chunk ..]
 *      wanted           <----->
 *      read            [  |  |  ]                           all of it, into scratch
 *
 * When all ranges of a round have arrived, each piece is checked. A range that failed or does not match is
 * read once more; after that whole chunks are tried instead of blocks; then the request fails with EIO and a line
 * in the log. Nothing leaves before everything is right.
 *
 * When it was not the data but the way to the device that failed, the request is parked and tried again once a second
 * (serve/watch.c), until the deadline. A device read that does not come back at all keeps its memory: at the deadline
 * somebody else answers the request, and it ends here when the device lets go (read_abandon()). */
#include "serve/read.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "image/address.h"
#include "image/fine.h"
#include "serve/doubt.h"
#include "serve/node.h"
#include "serve/reply.h"

static uint64_t read_align(const struct read_op *op)
{
	return op->worker->serve->volume->geometry.logical_block;
}

/* ---- failing ---- */

static void read_report(const struct read_op *op, const struct read_piece *piece, const struct error *err)
{
	static struct log_limit limit = { .burst = 10 };
	const struct chunk *chunk = piece ? &piece->part.chunk : NULL;
	uint64_t ordinal = op->inode.ordinal;
	char path[1024], where[160] = "";
	unsigned held;

	if (!log_allow(&limit, &held))
		return;
	index_path(worker_reader(op->worker, op->generation), ordinal, path, sizeof(path));
	if (chunk)
		snprintf(where, sizeof(where), " chunk=%" PRIu64 " member=%u offset=%" PRIu64, chunk->number,
			 address_member(chunk->address), address_offset(chunk->address));
	log_err("read of '%s' failed: %s, ino=%" PRIu64 "%s held=%u", path, err->reason,
		generation_node(op->generation, ordinal), where, held);
}

static void read_drop_claims(const struct read_op *op)
{
	for (unsigned i = 0; i < op->piece_count; i++)
		if (op->pieces[i].claimed)
			chunk_cache_drop(op->worker->serve->cache, op->generation->key,
					 op->pieces[i].part.chunk.number);
}

/* Before the reply: the slot's next request is another one. */
static void read_end(struct read_op *op)
{
	atomic_store_explicit(&op->since, 0, memory_order_relaxed);
	generation_put(op->generation);
}

static void read_fail(struct read_op *op, const struct read_piece *piece, const struct error *err)
{
	struct worker *worker = op->worker;

	read_report(op, piece, err);
	read_drop_claims(op);
	stats_add(&worker->stats.read_failures, 1);
	doubt_raise(worker->serve, op->generation);
	read_end(op);
	reply_error(worker, op->request, -EIO);
}

/* Nobody waits for it any more: its process was killed, or the deadline came first. */
static void read_abandon(struct read_op *op)
{
	read_drop_claims(op);
	read_end(op);
	reply_end(op->worker, op->request);
}

/* ---- planning: pieces and ranges ---- */

static const struct read_piece *read_last(const struct read_op *op, const struct read_range *range)
{
	return &op->pieces[range->first + range->count - 1];
}

/* On the member, of a raw chunk. */
static uint64_t read_wanted(const struct read_piece *piece)
{
	return address_offset(piece->part.chunk.address) + piece->part.skip;
}

/* True when the device can put the wanted bytes where they belong in the payload. */
static bool read_fits_payload(const struct read_op *op, const struct read_piece *piece)
{
	uint64_t align = read_align(op), end = piece->at + piece->part.want;

	if (piece->part.chunk.codec != DSFS_CODEC_RAW || read_wanted(piece) % align || piece->at % align)
		return false;
	/* A last block that is wanted in part spills over into the payload behind the reply. */
	return piece->part.want % align == 0 ||
	       (end == op->size && round_up(end, align) <= op->request->payload_size);
}

static bool read_joins_run(const struct read_op *op, const struct read_range *range, size_t at)
{
	const struct read_piece *last = read_last(op, range);

	return last->at + last->part.want == at;
}

/* Chunks with a hole between them lie next to each other on the device: still one read, in several runs. */
static bool read_continues(const struct read_op *op, const struct read_range *range, const struct read_piece *piece,
			   bool direct)
{
	if (range->direct != direct || range->fetch.io.member != address_member(piece->part.chunk.address) ||
	    range->end != piece->from)
		return false;
	return !direct || read_joins_run(op, range, piece->at) || range->runs < IO_READ_IOVECS - 2; /* head, tail */
}

static void read_place(struct read_op *op, const struct read_piece *piece)
{
	bool direct = read_fits_payload(op, piece);
	struct read_range *range = op->range_count ? &op->ranges[op->range_count - 1] : NULL;

	if (!range || !read_continues(op, range, piece, direct)) {
		range = &op->ranges[op->range_count++];
		*range = (struct read_range){ .fetch.op = op, .first = op->piece_count, .direct = direct };
		range->fetch.io.member = address_member(piece->part.chunk.address);
	}
	if (!range->count || !read_joins_run(op, range, piece->at))
		range->runs++;
	range->end = piece->to;
	range->count++;
	op->pieces[op->piece_count++] = *piece;
}

/* Bytes that need no device: holes and files in the index. */
static int read_from_index(struct read_op *op, const struct extent_piece *part, size_t at, bool *ret_done,
			   struct error *err)
{
	const struct chunk *chunk = &part->chunk;
	uint8_t *out = op->request->payload + at, *bounce = op->worker->bounce;
	int r;

	*ret_done = true;
	if (chunk_is_hole(chunk)) {
		memset(out, 0, part->want);
		return 0;
	}
	if (chunk_is_inline(chunk)) {
		r = chunk_decode(chunk, op->worker->codec, chunk_inline_bytes(op->generation->index, chunk),
				 bounce, err);
		if (r == 0)
			memcpy(out, bounce + part->skip, part->want);
		return r;
	}
	*ret_done = false;
	return 0;
}

/* The page as far as the cache has what is wanted of it; else it is to be read. NULL: it is of no use. */
static struct read_page *read_plan_page(struct read_op *op, uint64_t number, uint32_t offset, uint32_t length)
{
	struct page_cache *cache = op->worker->serve->pages;
	struct read_page *page = &op->pages[op->page_count];
	enum page_cached cached;

	if (op->page_count && page[-1].number == number) {
		page--;
	} else {
		assert(op->page_count < READ_PAGES);
		*page = (struct read_page){ .fetch = { .op = op, .state = READ_SETTLED }, .number = number };
		page->bytes = op->scratch + READ_SCRATCH - (op->page_count + 1) * DSFS_BLOCK;
	}
	cached = page_cache_get(cache, op->generation->key, number, offset, length, page->bytes + offset);
	if (cached == PAGE_BAD)
		return NULL;
	if (cached == PAGE_FOUND)
		stats_add(&op->worker->stats.fine_hits, 1);
	else
		page->fetch.state = READ_READY;
	if (page == &op->pages[op->page_count])
		op->page_count++;
	return page;
}

/* The blocks around what is wanted instead of the chunk, when it has sums for them. */
static bool read_narrow(struct read_op *op, struct read_piece *piece)
{
	const struct extent_piece *part = &piece->part;
	uint64_t first = round_down(part->skip, DSFS_BLOCK), end = round_up(part->skip + part->want, DSFS_BLOCK);
	struct fine_row row;

	if (op->whole || part->want == part->chunk.length || part->chunk.codec != DSFS_CODEC_RAW ||
	    !fine_find(op->generation->fine, part->chunk.number, &row))
		return false;
	piece->sums = row.offset + (uint32_t)(first / DSFS_BLOCK * sizeof(le64));
	piece->page = read_plan_page(op, row.page, piece->sums,
				     (uint32_t)((end - first) / DSFS_BLOCK * sizeof(le64)));
	if (!piece->page)
		return false;
	if (end < part->chunk.length)
		piece->to = piece->from + end;
	piece->from += first;
	return true;
}

/* A chunk wanted in part: its neighbour's request may have read it, or be about to. The next request of a
 * sequential reader comes while this one is under way, and both want a part of the chunk between them: it is
 * put off until the rest of the request is there. With fine sums there is no part that both need. */
static void read_plan_chunk(struct read_op *op, const struct extent_piece *part, size_t at, bool may_wait)
{
	uint64_t start = address_offset(part->chunk.address);
	struct read_piece piece = { .part = *part, .at = at, .from = start, .to = start + part->chunk.stored };
	enum chunk_cached cached = CHUNK_ABSENT;

	if (read_narrow(op, &piece)) {
		read_place(op, &piece);
		return;
	}
	if (part->want < part->chunk.length && part->chunk.length <= op->worker->serve->cached_chunk)
		cached = chunk_cache_get(op->worker->serve->cache, op->generation->key,
					 part->chunk.number, part->skip, part->want,
					 op->request->payload + at);
	if (cached == CHUNK_FOUND) {
		stats_add(&op->worker->stats.cache_hits, 1);
	} else if (cached == CHUNK_COMING && may_wait) {
		op->late = *part;
		op->has_late = true;
	} else {
		piece.claimed = cached == CHUNK_CLAIMED;
		read_place(op, &piece);
	}
}

static int read_plan_piece(struct read_op *op, struct error *err)
{
	struct extent_piece part;
	bool done;
	int r;

	r = extent_next(&op->cursor, &part, err);
	if (r == 0)
		r = error_set(err, -EBADMSG, "its chunks end after %" PRIu64 " of %" PRIu64 " bytes",
			      op->planned, op->size);
	if (r < 0)
		return r;
	if (part.chunk.stored > part.chunk.length || part.want > op->size - op->planned)
		return error_set(err, -EBADMSG, "chunk %" PRIu64 " holds more than it can",
				 part.chunk.number);
	r = read_from_index(op, &part, op->planned, &done, err);
	if (r < 0)
		return r;
	if (!done)
		read_plan_chunk(op, &part, op->planned, op->planned == 0);
	op->planned += part.want;
	return 0;
}

/* The next round: as much of the request as there are ranges for; at last what was put off. */
static int read_plan(struct read_op *op, struct error *err)
{
	int r = 0;

	op->piece_count = op->range_count = op->page_count = 0;
	op->scratch_used = 0;
	if (op->planned == op->size && op->has_late) {
		op->has_late = false;
		read_plan_chunk(op, &op->late, 0, false);
		return 0;
	}
	while (r == 0 && op->planned < op->size && op->range_count < READ_RANGES &&
	       op->piece_count < READ_PIECES)
		r = read_plan_piece(op, err);
	return r;
}

/* ---- starting: iovecs ---- */

static void read_add(struct read_range *range, void *base, uint64_t length)
{
	if (length)
		range->fetch.io.iov[range->fetch.io.iov_count++] = (struct iovec){ base, length };
}

static void read_add_scratch(struct read_range *range, uint64_t length)
{
	struct read_op *op = range->fetch.op;

	assert(length <= READ_SCRATCH - READ_PAGES * DSFS_BLOCK - op->scratch_used);
	read_add(range, op->scratch + op->scratch_used, length);
	op->scratch_used += round_up(length, DSFS_BLOCK);
}

/* The wanted bytes, run by run; the last run goes on to the end of its block. */
static void read_add_payload(struct read_range *range)
{
	const struct read_op *op = range->fetch.op;
	struct iovec *run = NULL;

	for (unsigned i = range->first; i < range->first + range->count; i++) {
		const struct read_piece *piece = &op->pieces[i];
		uint8_t *base = op->request->payload + piece->at;

		if (run && (uint8_t *)run->iov_base + run->iov_len == base) {
			run->iov_len += piece->part.want;
		} else {
			read_add(range, base, piece->part.want);
			run = &range->fetch.io.iov[range->fetch.io.iov_count - 1];
		}
	}
	run->iov_len = round_up(run->iov_len, read_align(op));
}

/* From which block to which the device is read, and where to. */
static void read_lay_out(struct read_range *range)
{
	const struct read_op *op = range->fetch.op;
	const struct read_piece *first = &op->pieces[range->first], *last = read_last(op, range);
	uint64_t align = read_align(op);
	uint64_t from = round_down(first->from, align);
	uint64_t to = round_up(range->end, align);
	uint64_t wanted = read_wanted(first), wanted_end = read_wanted(last) + last->part.want;

	range->fetch.io.offset = from;
	range->fetch.io.iov_count = 0;
	if (!range->direct) {
		read_add_scratch(range, to - from);
		return;
	}
	read_add_scratch(range, wanted - from);
	read_add_payload(range);
	read_add_scratch(range, to - round_up(wanted_end, align));
}

static void read_lay_out_page(struct read_page *page)
{
	uint64_t address = fine_page_address(page->fetch.op->generation->fine, page->number);

	page->fetch.io.member = address_member(address);
	page->fetch.io.offset = address_offset(address);
	page->fetch.io.iov[0] = (struct iovec){ page->bytes, DSFS_BLOCK };
	page->fetch.io.iov_count = 1;
}

static void read_done(struct io_read *io, int result);

static void read_fetch(struct read_fetch *fetch, int64_t now)
{
	struct worker *worker = fetch->op->worker;

	fetch->state = READ_BUSY;
	fetch->io.done = read_done;
	fetch->started = now;
	fetch->op->pending++;
	stats_add(&worker->stats.device_reads, 1);
	engine_read(worker->engine, &fetch->io);
}

static void read_start(struct read_op *op)
{
	int64_t now = clock_now();

	if (!atomic_load_explicit(&op->since, memory_order_relaxed))
		atomic_store_explicit(&op->since, now, memory_order_relaxed);
	for (unsigned i = 0; i < op->page_count; i++) {
		if (op->pages[i].fetch.state != READ_READY)
			continue;
		read_lay_out_page(&op->pages[i]);
		stats_add(&op->worker->stats.fine_reads, 1);
		read_fetch(&op->pages[i].fetch, now);
	}
	for (unsigned i = 0; i < op->range_count; i++) {
		if (op->ranges[i].fetch.state != READ_READY)
			continue;
		if (!op->ranges[i].retried)
			read_lay_out(&op->ranges[i]);
		read_fetch(&op->ranges[i].fetch, now);
	}
}

/* ---- waiting: the way to the device fails ---- */

/* Not what the device says of a block that it cannot read (ENODATA, EILSEQ): that would not pass. EAGAIN does not come
 * here: engines repeat it. */
static bool read_is_path_error(int result)
{
	switch (result) {
	case -EIO:
	case -ENODEV:
	case -ENXIO:
	case -ENOLINK:
	case -EREMOTEIO:
	case -ETIMEDOUT:
	case -ESHUTDOWN:
	case -ESTALE:
	case -EOPNOTSUPP: /* NVMe: the controller has no such namespace any more */
		return true;
	default:
		return false;
	}
}

static bool read_is_overdue(const struct read_op *op)
{
	return clock_now() - atomic_load_explicit(&op->since, memory_order_relaxed) >=
	       (int64_t)op->worker->serve->options.deadline * 1000000000;
}

/* Whether what failed with this result is to be tried again later. */
static bool read_may_wait(struct read_op *op, int result)
{
	struct worker *worker = op->worker;

	if (worker->ending || !read_is_path_error(result) || read_is_overdue(op))
		return false;
	if (worker->serve->options.on_error != SERVE_ON_ERROR_WAIT) {
		atomic_store_explicit(&worker->path_failed, true, memory_order_relaxed);
		return false;
	}
	op->path_error = result;
	op->waits = true;
	return true;
}

static void read_park(struct read_op *op)
{
	struct worker *worker = op->worker;

	atomic_store_explicit(&worker->serve->path_error, op->path_error, memory_order_relaxed);
	op->parked = worker->parked;
	worker->parked = op;
	atomic_fetch_add_explicit(&worker->parked_count, 1, memory_order_relaxed);
}

/* ---- settling: is what arrived what was written? ---- */

/* Where the piece's bytes lie in memory: in 1 to 3 parts. */
static int read_parts(const struct read_range *range, const struct read_piece *piece, struct iovec parts[4])
{
	uint64_t at = range->fetch.io.offset, start, end;
	int count = 0;

	for (int i = 0; i < range->fetch.io.iov_count; i++) {
		const struct iovec *iov = &range->fetch.io.iov[i];

		start = piece->from > at ? piece->from : at;
		end = piece->to < at + iov->iov_len ? piece->to : at + iov->iov_len;
		if (start < end)
			parts[count++] = (struct iovec){ (uint8_t *)iov->iov_base + (start - at), end - start };
		at += iov->iov_len;
	}
	return count;
}

static void read_keep(const struct read_op *op, struct read_piece *piece, const struct iovec *parts, int count)
{
	if (!piece->claimed)
		return;
	chunk_cache_put(op->worker->serve->cache, op->generation->key, piece->part.chunk.number, parts,
			count);
	piece->claimed = false;
}

static int read_verify(const struct read_piece *piece, const struct iovec *parts, int count, struct error *err)
{
	if (piece->page)
		return fine_verify((const le64 *)(piece->page->bytes + piece->sums), parts, count, err);
	return chunk_verify(&piece->part.chunk, parts, count, err);
}

static int read_settle_raw(struct read_op *op, const struct read_range *range, struct read_piece *piece,
			   struct error *err)
{
	struct iovec parts[4];
	int count = read_parts(range, piece, parts);
	int r;

	if (op->worker->serve->options.verify) {
		r = read_verify(piece, parts, count, err);
		if (r < 0)
			return r;
	}
	if (!range->direct)
		memcpy(op->request->payload + piece->at,
		       (uint8_t *)parts[0].iov_base + (read_wanted(piece) - piece->from), piece->part.want);
	read_keep(op, piece, parts, count);
	return 0;
}

static int read_settle_compressed(struct read_op *op, const struct read_range *range,
				  struct read_piece *piece, struct error *err)
{
	const struct chunk *chunk = &piece->part.chunk;
	bool whole = piece->part.want == chunk->length;
	uint8_t *out = op->request->payload + piece->at;
	uint8_t *content = whole ? out : op->worker->bounce;
	struct iovec parts[4];
	int r;

	read_parts(range, piece, parts);
	r = chunk_decode(chunk, op->worker->codec, parts[0].iov_base, content, err);
	if (r < 0 || whole)
		return r;
	memcpy(out, content + piece->part.skip, piece->part.want);
	read_keep(op, piece, &(struct iovec){ content, chunk->length }, 1);
	return 0;
}

/* Less than needed has arrived. */
static int read_missing(struct stats *stats, int result, uint64_t needed, struct error *err)
{
	if (result >= 0 && (uint64_t)result >= needed)
		return 0;
	stats_add(&stats->device_errors, 1);
	if (result < 0)
		return error_set(err, result, "the device says: %s", strerror(-result));
	return error_set(err, -EIO, "the device gave %d bytes, expected %" PRIu64, result, needed);
}

/* Right pages are kept, and of wrong ones that they are. */
static int read_settle_page(struct read_op *op, struct read_page *page, struct error *err)
{
	struct worker *worker = op->worker;
	int r = read_missing(&worker->stats, page->fetch.result, DSFS_BLOCK, err);

	page->fetch.state = r < 0 && read_may_wait(op, page->fetch.result) ? READ_READY : READ_SETTLED;
	if (r < 0)
		return page->fetch.state == READ_READY ? 0 : r;
	r = fine_check_page(op->generation->fine, page->number, page->bytes, err);
	page_cache_put(worker->serve->pages, op->generation->key, page->number, r < 0 ? NULL : page->bytes);
	return r;
}

/* On failure *ret_piece is the piece that is to blame. */
static int read_settle_range(struct read_op *op, struct read_range *range,
			     const struct read_piece **ret_piece, struct error *err)
{
	struct stats *stats = &op->worker->stats;
	uint64_t needed = range->end - range->fetch.io.offset;
	struct read_piece *piece = &op->pieces[range->first];
	int r = 0;

	*ret_piece = piece;
	r = read_missing(stats, range->fetch.result, needed, err);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < range->count && r == 0; i++, piece++) {
		*ret_piece = piece;
		r = piece->part.chunk.codec == DSFS_CODEC_RAW ? read_settle_raw(op, range, piece, err) :
								read_settle_compressed(op, range, piece, err);
	}
	if (r < 0)
		stats_add(&stats->checksum_failures, 1);
	return r;
}

/* Once, and then for as long as the way to the device may come back. */
static bool read_tries_again(struct read_op *op, struct read_range *range)
{
	if (range->retried && !read_may_wait(op, range->fetch.result))
		return false;
	range->retried = true;
	stats_add(&op->worker->stats.retries, 1);
	return true;
}

/* 0: every range is right, or will be read again. */
static int read_settle(struct read_op *op, bool *ret_again, const struct read_piece **ret_piece,
		       struct error *err)
{
	int r = 0;

	op->waits = false;
	for (unsigned i = 0; i < op->page_count && r == 0; i++)
		if (op->pages[i].fetch.state == READ_ARRIVED)
			r = read_settle_page(op, &op->pages[i], err);
	*ret_again = op->waits;
	if (r < 0 || op->waits) /* blocks cannot be checked without it */
		return r;
	for (unsigned i = 0; i < op->range_count; i++) {
		struct read_range *range = &op->ranges[i];

		if (range->fetch.state != READ_ARRIVED)
			continue;
		r = read_settle_range(op, range, ret_piece, err);
		if (r < 0 && !read_tries_again(op, range))
			return r;
		range->fetch.state = r < 0 ? READ_READY : READ_SETTLED;
		*ret_again |= r < 0;
	}
	return 0;
}

/* ---- the steps in order ---- */

static void read_finish(struct read_op *op)
{
	struct worker *worker = op->worker;

	stats_add(&worker->stats.bytes_served, op->size);
	stats_time(worker->stats.read_latency, op->request->arrived);
	read_end(op);
	reply_data(worker, op->request, op->request->payload, op->size);
}

/* Nothing is planned yet. */
static void read_restart(struct read_op *op, uint64_t offset, uint64_t size)
{
	op->planned = 0;
	op->has_late = false;
	op->piece_count = op->range_count = op->page_count = 0;
	extent_map(&op->cursor, op->generation->index, &op->inode, offset, size, &op->size);
}

/* The request begins again, with whole chunks. */
static void read_fall_back(struct read_op *op, const struct error *err)
{
	static struct log_limit limit = { .burst = 10 };
	const struct fuse_read_in *in = &op->request->wire.in.read;
	char path[1024];
	unsigned held;

	if (log_allow(&limit, &held)) {
		index_path(worker_reader(op->worker, op->generation), op->inode.ordinal, path, sizeof(path));
		log_warn("fine sums are of no use for '%s': %s, reading whole chunks ino=%" PRIu64 " held=%u", path,
			 err->reason, generation_node(op->generation, op->inode.ordinal), held);
	}
	stats_add(&op->worker->stats.fine_failures, 1);
	read_drop_claims(op);
	op->whole = true;
	read_restart(op, in->offset, op->size);
}

/* What has arrived is checked; the next reads are ready to be started, or *ret_done: everything is there. */
static int read_step(struct read_op *op, bool *ret_done, const struct read_piece **ret_piece, struct error *err)
{
	bool again = false;
	int r = read_settle(op, &again, ret_piece, err);

	*ret_done = false;
	if (r < 0 && op->page_count) {
		read_fall_back(op, err);
		r = 0;
	} else if (r == 0 && !again) { /* it got on */
		atomic_store_explicit(&op->since, 0, memory_order_relaxed);
	}
	if (r < 0 || again)
		return r;
	*ret_done = op->planned == op->size && !op->has_late;
	*ret_piece = NULL;
	return *ret_done ? 0 : read_plan(op, err);
}

/* Called while no device read is under way; goes on until one is, or the request is parked or answered. */
static void read_advance(struct read_op *op)
{
	const struct read_piece *piece = NULL;
	struct error err;
	bool done;
	int r;

	error_clear(&err);
	do {
		if (channel_is_answered(op->request)) {
			read_abandon(op);
			return;
		}
		r = read_step(op, &done, &piece, &err);
		if (r < 0 || done || op->waits) {
			if (r < 0)
				read_fail(op, piece, &err);
			else if (done)
				read_finish(op);
			else
				read_park(op);
			return;
		}
		op->pending = 1; /* ours: completions during the start must not get ahead of us */
		read_start(op);
	} while (--op->pending == 0);
}

static void read_retry_one(struct read_op *op)
{
	struct error err = { 0 };

	if (channel_is_answered(op->request)) {
		read_abandon(op);
	} else if (op->worker->ending || read_is_overdue(op)) {
		error_set(&err, op->path_error, "the device says: %s, given up after %" PRId64 " s",
			  strerror(-op->path_error), (clock_now() - atomic_load(&op->since)) / 1000000000);
		read_fail(op, NULL, &err);
	} else {
		op->pending = 1;
		read_start(op);
		if (--op->pending == 0)
			read_advance(op);
	}
}

void read_retry(struct worker *worker)
{
	struct read_op *op = worker->parked, *next;

	worker->parked = NULL;
	atomic_store_explicit(&worker->parked_count, 0, memory_order_relaxed);
	for (; op; op = next) {
		next = op->parked;
		read_retry_one(op);
	}
}

/* A block device that was taken away is one of no size: its end is everywhere, and that is no error to the kernel. */
static int read_result(const struct read_op *op, int result)
{
	return result == 0 && op->worker->serve->volume->geometry.is_block_device ? -ENODEV : result;
}

static void read_done(struct io_read *io, int result)
{
	struct read_fetch *fetch = (struct read_fetch *)io; /* its first member */
	struct read_op *op = fetch->op;
	struct stats *stats = &op->worker->stats;

	fetch->result = read_result(op, result);
	fetch->state = READ_ARRIVED;
	stats_time(stats->device_latency, fetch->started);
	if (fetch->result > 0)
		stats_add(&stats->device_bytes, (uint64_t)fetch->result);
	if (--op->pending == 0)
		read_advance(op);
}

void read_begin(struct worker *worker, struct channel_request *request)
{
	const struct fuse_read_in *in = &request->wire.in.read;
	struct read_op *op = &worker->reads[request->slot];
	struct error err;
	uint64_t size = in->size < request->payload_size ? in->size : request->payload_size;
	int r;

	error_clear(&err);
	r = node_find(worker, request->wire.nodeid, &op->generation, &op->inode, &err);
	if (r == 0 && !S_ISREG(op->inode.mode))
		r = S_ISDIR(op->inode.mode) ? -EISDIR : -EINVAL;
	if (r < 0) {
		reply_error(worker, request, r);
		return;
	}
	generation_get(op->generation);
	op->worker = worker;
	op->request = request;
	op->scratch = worker->scratch + (size_t)request->slot * READ_SCRATCH;
	op->whole = op->waits = false;
	atomic_store_explicit(&op->since, 0, memory_order_relaxed);
	read_restart(op, in->offset, size);
	read_advance(op);
}
