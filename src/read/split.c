/* SPDX-License-Identifier: MIT */
/* Cuts a request into pieces, one per chunk, and joins pieces that are adjacent on the device into ranges. Bytes
 * that need no device are answered here. */
#include "read/split.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/round.h"
#include "read/cached.h"

/* True if the device can put the wanted bytes in their place in the payload. The rest of their first and last block
 * spills over to where the owner allows it. */
static bool split_fits_payload(const struct read_op *op, const struct read_piece *piece)
{
	const uint8_t *payload = op->request.payload;
	uint64_t align = op_align(op), end = (uint64_t)(piece->out - payload) + piece->part.want;
	uint64_t head = op_wanted(piece) % align, tail = (op_wanted(piece) + piece->part.want) % align;

	if (piece->part.chunk.codec != DSFS_CODEC_RAW || ((uintptr_t)piece->out - op_wanted(piece)) % align)
		return false;
	if (op->request.is_spread)
		return true;
	if (head && (piece->out != payload || head > op->request.lead))
		return false;
	return tail == 0 || (end == op->size && end + align - tail <= op->request.room);
}

static bool split_joins_run(const struct read_op *op, const struct read_range *range, const uint8_t *out)
{
	const struct read_piece *last = op_last(op, range);

	return last->out + last->part.want == out;
}

/* A range must not cross segments, because copies of two segments lie in different places. */
static bool split_is_in_segment(const struct read_op *op, const struct read_range *range,
			       const struct read_piece *piece)
{
	const struct members *members = &op->request.version.index->members;
	uint64_t first = op->pieces[range->first].part.chunk.address;

	return !members->count || (first ^ piece->part.chunk.address) >> members->segment_log == 0;
}

/* How a piece is read. */
struct split_way {
	bool direct, may_hit; /* see struct read_range, struct read_fetch */
	uint64_t shift;
};

/* Chunks with a hole between them in the file are adjacent on the device: still one read, in several runs. */
static bool split_continues(const struct read_op *op, const struct read_range *range, const struct read_piece *piece,
			   const struct split_way *way)
{
	bool direct = way->direct;
	uint64_t gap = !direct || op->request.is_spread ? op->request.gap : 0;

	if (range->fetch.may_hit != way->may_hit || range->fetch.shift != way->shift)
		return false;
	if (range->direct != direct || range->fetch.io.member != address_member(piece->part.chunk.address) ||
	    piece->from < range->end || piece->from - range->end > gap || !split_is_in_segment(op, range, piece))
		return false;
	return !direct || op->request.is_spread || split_joins_run(op, range, piece->out) ||
	       range->runs < IO_READ_IOVECS - 2; /* head, tail */
}

/* True if a read of the piece can be left when it is stuck, see read_leave(). */
static bool split_may_be_left(const struct read_op *op, const struct read_piece *piece)
{
	uint64_t copies[DSFS_COPIES_MAX];

	return members_copies(&op->request.version.index->members, piece->part.chunk.address, copies) > 1;
}

/* Chunks of a list that are read with gaps are copied unless all are spread: a direct one would split the read of all,
 * and a read of a device with few of them a second takes longer than the copy. */
static bool split_is_direct(const struct read_op *op, const struct read_piece *piece)
{
	if (op->request.places || (op->request.keeps_payload && split_may_be_left(op, piece)))
		return false;
	return (!op->request.gap || op->request.is_spread) && split_fits_payload(op, piece);
}

static struct read_range *split_add_range(struct read_op *op, const struct read_piece *piece, unsigned first,
					  const struct split_way *way)
{
	struct read_range *range = &op->ranges[op->range_count++];

	*range = (struct read_range){ .fetch = { .op = op, .may_hit = way->may_hit, .shift = way->shift },
				      .first = first, .direct = way->direct };
	range->fetch.io.member = address_member(piece->part.chunk.address);
	return range;
}

static void split_place(struct read_op *op, const struct read_piece *piece)
{
	struct split_way way = { .direct = split_is_direct(op, piece) };
	struct read_range *range = op->range_count ? &op->ranges[op->range_count - 1] : NULL;

	way.may_hit = cached_find(op, piece, &way.shift);
	if (!range || !split_continues(op, range, piece, &way))
		range = split_add_range(op, piece, op->piece_count, &way);
	if (!range->count || !split_joins_run(op, range, piece->out))
		range->runs++;
	range->end = piece->to;
	range->count++;
	op->pieces[op->piece_count++] = *piece;
}

/* Answers bytes that need no device: holes and files in the index. */
static int split_from_index(struct read_op *op, const struct extent_piece *part, uint8_t *out, bool *ret_done,
			   struct error *err)
{
	const struct chunk *chunk = &part->chunk;
	uint8_t *bounce = op->reader->bounce;
	int r;

	*ret_done = true;
	if (chunk_is_hole(chunk)) {
		memset(out, 0, part->want);
		return 0;
	}
	if (chunk_is_inline(chunk)) {
		r = chunk_decode(chunk, op->reader->codec, chunk_inline_bytes(op->request.version.index, chunk),
				 bounce, err);
		if (r == 0)
			memcpy(out, bounce + part->skip, part->want);
		return r;
	}
	*ret_done = false;
	return 0;
}

/* Returns the page for these sums, filled from the cache if it has them, else to be read. NULL: the page is bad. */
static struct read_page *split_page(struct read_op *op, uint64_t number, uint32_t offset, uint32_t length)
{
	struct page_cache *cache = op->reader->setup.pages;
	struct read_page *page = &op->pages[op->page_count];
	enum page_cached cached;

	if (op->page_count && page[-1].number == number) {
		page--;
	} else {
		assert(op->page_count < READ_PAGES);
		*page = (struct read_page){ .fetch = { .op = op, .state = READ_SETTLED }, .number = number };
		page->bytes = op->request.scratch + READ_SCRATCH - (op->page_count + 1) * DSFS_BLOCK;
	}
	cached = page_cache_get(cache, op->request.version.key, number, offset, length, page->bytes + offset);
	if (cached == PAGE_BAD)
		return NULL;
	if (cached == PAGE_FOUND)
		counter_add(&op->reader->setup.counters->block_sums_hits, 1);
	else
		page->fetch.state = READ_READY;
	if (page == &op->pages[op->page_count])
		op->page_count++;
	return page;
}

/* Returns which bytes of a row are needed to verify the chunk's bytes from..end: of SHA-256 all, as they prove each
 * other. */
static struct extent split_sums(const struct chunk *chunk, uint64_t from, uint64_t end)
{
	uint32_t kind = chunk->sum.kind, size = sum_size(kind);

	if (kind == DSFS_SUM_SHA256)
		return (struct extent){ 0, sum_blocks_size(kind, chunk->length) };
	return (struct extent){ from / sum_block(kind) * size, (end - from) / sum_block(kind) * size };
}

/* Narrows the piece to the blocks around the wanted bytes, if the chunk has block checksums. */
static bool split_narrow(struct read_op *op, struct read_piece *piece)
{
	const struct extent_piece *part = &piece->part;
	uint32_t block = sum_block(part->chunk.sum.kind);
	uint64_t first = round_down(part->skip, block), end = round_up(part->skip + part->want, block);
	struct extent sums = split_sums(&part->chunk, first, end);
	struct block_sums_row row;

	if (op->whole || part->want == part->chunk.length || part->chunk.codec != DSFS_CODEC_RAW ||
	    !block_sums_find(op->request.version.block_sums, part->chunk.number, &row))
		return false;
	piece->sums = row.offset;
	piece->page = split_page(op, row.page, row.offset + (uint32_t)sums.address, (uint32_t)sums.length);
	if (!piece->page)
		return false;
	if (end < part->chunk.length)
		piece->to = piece->from + end;
	piece->from += first;
	return true;
}

/* Plans a chunk. If it is wanted in part, a neighbouring request may have read it or be reading it: a sequential
 * reader sends the next request while this one is in flight, and both need the chunk between them. Such a chunk is
 * put off until the rest of the request is there. Block checksums avoid this. */
static void split_chunk(struct read_op *op, const struct extent_piece *part, uint8_t *out, bool may_wait)
{
	uint64_t start = address_offset(part->chunk.address);
	struct read_piece piece = { .part = *part, .out = out, .from = start, .to = start + part->chunk.stored };
	enum chunk_cached cached = CHUNK_ABSENT;

	if (split_narrow(op, &piece)) {
		split_place(op, &piece);
		return;
	}
	if (part->want < part->chunk.length && part->chunk.length <= chunk_cache_room(op->reader->setup.cache))
		cached = chunk_cache_get(op->reader->setup.cache, op->request.version.key,
					 part->chunk.number, part->skip, part->want, out);
	if (cached == CHUNK_FOUND) {
		counter_add(&op->reader->setup.counters->cache_hits, 1);
	} else if (cached == CHUNK_COMING && may_wait) {
		op->late = *part;
		op->has_late = true;
	} else {
		piece.claimed = cached == CHUNK_CLAIMED;
		split_place(op, &piece);
	}
}

/* Returns the next chunk of the file or the list, like extent_next(). */
static int split_next(struct read_op *op, struct extent_piece *ret, struct error *err)
{
	const struct read_request *request = &op->request;

	if (!request->chunks)
		return extent_next(&op->cursor, ret, err);
	if (op->next_chunk == request->chunk_count)
		return 0;
	ret->chunk = request->chunks[op->next_chunk++];
	ret->skip = 0;
	ret->want = ret->chunk.length;
	return 1;
}

/* Returns where the next bytes belong. */
static uint8_t *split_out(const struct read_op *op, const struct chunk *chunk)
{
	const struct read_request *request = &op->request;

	if (request->places)
		return request->places[op->next_chunk - 1];
	return request->payload + (request->is_spread ? chunk->address - request->chunks[0].address : op->split);
}

/* Plans the bytes of a chunk, or answers them. */
static int split_part(struct read_op *op, const struct extent_piece *part, struct error *err)
{
	uint8_t *out;
	bool done;
	int r;

	if (part->chunk.stored > part->chunk.length || part->want > op->size - op->split)
		return error_set(err, -EBADMSG, "chunk %" PRIu64 " has an impossible length", part->chunk.number);
	out = split_out(op, &part->chunk);
	r = split_from_index(op, part, out, &done, err);
	if (r == 0 && !done)
		split_chunk(op, part, out, op->split == 0);
	return r;
}

static int split_piece(struct read_op *op, struct error *err)
{
	struct extent_piece part;
	int r;

	r = split_next(op, &part, err);
	if (r == 0)
		r = error_set(err, -EBADMSG, "its chunks end after %" PRIu64 " of %" PRIu64 " bytes",
			      op->split, op->size);
	if (r < 0)
		return r;
	r = split_part(op, &part, err);
	if (r < 0 && !op->request.chunks)
		return r;
	if (r < 0)
		op_lose(op, &part.chunk, err);
	op->split += part.want;
	return 0;
}

int split_round(struct read_op *op, struct error *err)
{
	int r = 0;

	op->piece_count = op->range_count = op->page_count = 0;
	op->scratch_used = 0;
	if (op->split == op->size && op->has_late) {
		op->has_late = false;
		split_chunk(op, &op->late, op->request.payload, false);
		return 0;
	}
	while (r == 0 && op->split < op->size && op->range_count < READ_RANGES &&
	       op->piece_count < READ_PIECES)
		r = split_piece(op, err);
	return r;
}

/* They go through the scratch, as blocks of a neighbour's end and begin in the payload. */
void split_apart(struct read_op *op)
{
	const struct split_way way = { 0 };

	op->range_count = 0;
	op->scratch_used = 0;
	op->has_apart = false;
	for (unsigned i = 0; i < op->piece_count; i++) {
		struct read_piece *piece = &op->pieces[i];
		struct read_range *range;

		if (!piece->is_apart)
			continue;
		if (op->range_count == READ_RANGES) {
			op->has_apart = true;
			return;
		}
		range = split_add_range(op, piece, i, &way);
		range->end = piece->to;
		range->count = 1;
		range->was_wrong = piece->was_wrong;
		piece->is_apart = false;
	}
}

static void split_begin_chunks(struct read_op *op)
{
	op->next_chunk = 0;
	op->size = 0;
	for (uint32_t i = 0; i < op->request.chunk_count; i++)
		op->size += op->request.chunks[i].length;
	assert(op->request.places || op->size <= op->request.room);
}

void split_begin(struct read_op *op, uint64_t offset, uint64_t size)
{
	op->split = op->lost = 0;
	op->has_late = op->has_apart = false;
	op->piece_count = op->range_count = op->page_count = 0;
	cached_begin(op);
	if (op->request.chunks) {
		split_begin_chunks(op);
		return;
	}
	extent_map(&op->cursor, op->request.version.index, &op->request.inode, offset, size, &op->size);
}
