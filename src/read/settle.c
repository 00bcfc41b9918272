/* SPDX-License-Identifier: MIT */
/* Checks whether the device returned the bytes that were written. */
#include "read/settle.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "read/cached.h"
#include "read/fetch.h"
#include "read/park.h"

/* Finds the piece's bytes in memory, in 1 to 3 parts. */
static int settle_parts(const struct read_range *range, const struct read_piece *piece, struct iovec parts[4])
{
	uint64_t at = address_offset(range->fetch.address), start, end;
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

static void settle_keep(const struct read_op *op, struct read_piece *piece, const struct iovec *parts, int count)
{
	if (!piece->claimed)
		return;
	chunk_cache_put(op->reader->setup.cache, op->request.version.key, piece->part.chunk.number, parts,
			count);
	piece->claimed = false;
}

static int settle_verify(const struct read_piece *piece, const struct iovec *parts, int count, struct error *err)
{
	const struct chunk *chunk = &piece->part.chunk;
	uint64_t before = piece->from - address_offset(chunk->address);

	if (!piece->page)
		return chunk_verify(chunk, parts, count, err);
	return sum_check_blocks(&chunk->sum, chunk->length, piece->page->bytes + piece->sums,
				(uint32_t)(before / sum_block(chunk->sum.kind)), parts, count, err);
}

static int settle_raw(struct read_op *op, const struct read_range *range, struct read_piece *piece,
			   struct error *err)
{
	struct iovec parts[4];
	int count = settle_parts(range, piece, parts);
	int r;

	if (op->reader->setup.options->verify) {
		r = settle_verify(piece, parts, count, err);
		if (r < 0)
			return r;
	}
	if (!range->direct)
		memcpy(piece->out, (uint8_t *)parts[0].iov_base + (op_wanted(piece) - piece->from),
		       piece->part.want);
	settle_keep(op, piece, parts, count);
	if (!range->fetch.hits)
		cached_keep(op, piece, parts, count);
	return 0;
}

static int settle_compressed(struct read_op *op, const struct read_range *range,
				  struct read_piece *piece, struct error *err)
{
	const struct chunk *chunk = &piece->part.chunk;
	bool whole = piece->part.want == chunk->length;
	uint8_t *content = whole ? piece->out : op->reader->bounce;
	struct iovec parts[4];
	int r;

	settle_parts(range, piece, parts);
	r = chunk_decode(chunk, op->reader->codec, parts[0].iov_base, content, err);
	if (r == 0 && !range->fetch.hits)
		cached_keep(op, piece, parts, 1);
	if (r < 0 || whole)
		return r;
	memcpy(piece->out, content + piece->part.skip, piece->part.want);
	settle_keep(op, piece, &(struct iovec){ content, chunk->length }, 1);
	return 0;
}

/* Fails if the device returned an error or less than needed. */
static int settle_missing(const struct read_op *op, const struct read_fetch *fetch, uint64_t needed, struct error *err)
{
	int result = fetch->result;

	if (result >= 0 && (uint64_t)result >= needed)
		return 0;
	if (!fetch->hits) {
		counter_add(&op->reader->setup.counters->device_errors, 1);
		counter_stamp(&op->reader->setup.counters->error_at);
	}
	if (result < 0)
		return error_set(err, result, "the device says: %s", strerror(-result));
	return error_set(err, -EIO, "the device returned %d bytes, expected %" PRIu64, result, needed);
}

/* Returns the sum that the page of this fetch must have. */
static struct sum settle_page_sum(const struct read_op *op, const struct read_fetch *fetch)
{
	const struct read_page *page = (const void *)((const char *)fetch - offsetof(struct read_page, fetch));

	return block_sums_page_sum(op->request.version.block_sums, page->number);
}

/* Describes the bytes to blame: a page if piece is NULL, else the whole chunk, even if only a part was read. */
static struct reader_place settle_place(const struct read_op *op, const struct read_fetch *fetch,
					const struct read_piece *piece)
{
	const struct chunk *chunk = piece ? &piece->part.chunk : NULL;
	uint64_t address = chunk ? chunk->address : fetch->address;

	return (struct reader_place){ .member = fetch->io.member,
				      .offset = fetch->io.offset + address_offset(address) -
						address_offset(fetch->address),
				      .length = chunk ? chunk->stored : DSFS_BLOCK,
				      .chunk = chunk,
				      .page_sum = chunk ? chunk->sum : settle_page_sum(op, fetch) };
}

/* Many devices report EIO both for a bad sector and for a failed path. While other reads of the member succeed, it
 * counts as a bad sector. */
static bool settle_may_be_a_sector(const struct read_op *op, const struct read_fetch *fetch)
{
	const struct route *route = op->reader->setup.route;

	return (fetch->result == -EIO || fetch->result == -EREMOTEIO) &&
	       !(route && route_is_suspect(route, fetch->io.member, clock_now()));
}

/* Reports that one of several copies failed. */
static void settle_tell(struct read_op *op, const struct read_fetch *fetch, const struct read_piece *piece,
			const struct error *err)
{
	const struct reader_events *events = op->reader->setup.events;
	struct reader_place place = settle_place(op, fetch, piece);
	bool is_path = park_is_path_error(fetch->result);

	if (is_path && events->copy_failed)
		events->copy_failed(op, fetch->io.member, fetch->result);
	if ((!is_path || settle_may_be_a_sector(op, fetch)) && events->copy_wrong)
		events->copy_wrong(op, &place, err);
}

/* Decides whether to read again: every copy in turn, at least least tries in all, and then for as long as the path
 * to a copy may come back. */
static bool settle_tries_again(struct read_op *op, struct read_fetch *fetch, const struct read_piece *piece,
			       uint32_t least, const struct error *err)
{
	uint64_t copies[DSFS_COPIES_MAX];
	uint32_t count = fetch_copies(fetch, copies);

	if (fetch->tries++ % count == 0)
		fetch->path_error = 0;
	if (park_is_path_error(fetch->result))
		fetch->path_error = fetch->result;
	if (count > 1)
		settle_tell(op, fetch, piece, err);
	return fetch->tries < least || fetch->tries % count || park_may_wait(op, fetch->path_error);
}

/* Checks a page and caches it, or caches that it is bad. */
static int settle_page(struct read_op *op, struct read_page *page, struct error *err)
{
	int r = settle_missing(op, &page->fetch, DSFS_BLOCK, err);
	bool is_bad = false;

	if (r == 0) {
		r = block_sums_check_page(op->request.version.block_sums, page->number, page->bytes, err);
		is_bad = r < 0;
	}
	if (r < 0 && settle_tries_again(op, &page->fetch, NULL, 1, err)) {
		page->fetch.state = READ_READY;
		return 0;
	}
	page->fetch.state = READ_SETTLED;
	if (r == 0 || is_bad)
		page_cache_put(op->reader->setup.pages, op->request.version.key, page->number,
			       is_bad ? NULL : page->bytes);
	return r;
}

static int settle_piece(struct read_op *op, const struct read_range *range, struct read_piece *piece,
			struct error *err)
{
	return piece->part.chunk.codec == DSFS_CODEC_RAW ? settle_raw(op, range, piece, err) :
							   settle_compressed(op, range, piece, err);
}

static uint64_t settle_needed(const struct read_range *range)
{
	return range->end - address_offset(range->fetch.address);
}

/* Checks all pieces of a range. On failure *ret_piece is the piece to blame. */
static int settle_range(struct read_op *op, struct read_range *range,
			     const struct read_piece **ret_piece, struct error *err)
{
	struct read_piece *piece = &op->pieces[range->first];
	int r = 0;

	*ret_piece = piece;
	r = settle_missing(op, &range->fetch, settle_needed(range), err);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < range->count && r == 0; i++, piece++) {
		*ret_piece = piece;
		r = settle_piece(op, range, piece, err);
	}
	if (r < 0 && !range->fetch.hits) {
		op->mismatches++;
		range->was_wrong = true;
	}
	return r;
}

/* Checks the pages. *ret_again: some must be read again, and nothing can be verified without them. */
static int settle_pages(struct read_op *op, bool *ret_again, struct error *err)
{
	int r = 0;

	for (unsigned i = 0; i < op->page_count && r == 0; i++) {
		if (op->pages[i].fetch.state == READ_ARRIVED)
			r = settle_page(op, &op->pages[i], err);
		*ret_again |= op->pages[i].fetch.state == READ_READY;
	}
	return r;
}

/* A bad range from the cache is not reported and does not count as a try: the volume is read as often as ever. */
static bool settle_cached(struct read_op *op, struct read_range *range)
{
	const struct read_piece *piece;
	struct error why;

	error_clear(&why);
	if (settle_range(op, range, &piece, &why) < 0)
		cached_miss(op, range);
	else
		cached_hit(op, range);
	range->fetch.state = range->fetch.hits ? READ_SETTLED : READ_READY;
	return range->fetch.hits;
}

/* A list goes on without a chunk that cannot be read. Of several that were read together, those that are not right now
 * are read again, each by itself, as one that is damaged says nothing of the others. */
static void settle_give_up(struct read_op *op, struct read_range *range, const struct error *err)
{
	bool is_missing = range->fetch.result < 0 || (uint64_t)range->fetch.result < settle_needed(range);
	struct read_piece *piece = &op->pieces[range->first];
	struct error why;

	range->fetch.state = READ_SETTLED;
	if (range->count == 1) {
		op_lose(op, &piece->part.chunk, err);
		return;
	}
	error_clear(&why);
	op->has_apart = true;
	for (unsigned i = 0; i < range->count; i++, piece++) {
		piece->was_wrong = !is_missing && settle_piece(op, range, piece, &why) < 0;
		piece->is_apart = is_missing || piece->was_wrong;
	}
}

int settle_round(struct read_op *op, bool *ret_again, const struct read_piece **ret_piece,
		       struct error *err)
{
	int r;

	op->wait.to_park = *ret_again = false;
	r = settle_pages(op, ret_again, err);
	if (r < 0 || *ret_again)
		return r;
	for (unsigned i = 0; i < op->range_count; i++) {
		struct read_range *range = &op->ranges[i];

		if (range->fetch.state != READ_ARRIVED)
			continue;
		if (range->fetch.hits) {
			*ret_again |= !settle_cached(op, range);
			continue;
		}
		r = settle_range(op, range, ret_piece, err);
		if (r < 0 && !settle_tries_again(op, &range->fetch, *ret_piece, 2, err)) {
			if (!op->request.chunks)
				return r;
			settle_give_up(op, range, err);
			continue;
		}
		op->unsteady += r == 0 && range->was_wrong;
		counter_add(&op->reader->setup.counters->retries, r < 0);
		range->fetch.state = r < 0 ? READ_READY : READ_SETTLED;
		*ret_again |= r < 0;
	}
	return 0;
}
