/* SPDX-License-Identifier: MIT */
/* Pieces in the order in which they were copied, which is that of their old places. */
#include "volume/move.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/huge.h"
#include "base/interrupt.h"
#include "image/address.h"

#define MOVE_STEP   (1u << 20)   /* most bytes of a read or write */
#define MOVE_AHEAD  (128u << 10) /* least bytes of a read: runs of a few blocks lie close to each other */
#define MOVE_PIECES 8u /* in a segment: where free segments do not lie together, at most a piece of each is lost */

int move_open(struct source *source, struct space *space, bool rehearse, struct move *ret, struct error *err)
{
	struct move move = { .source = source, .space = space, .is_rehearsal = rehearse };

	move.from.bytes = huge_alloc(MOVE_STEP);
	move.to.bytes = huge_alloc(MOVE_STEP);
	move.unwritten = aligned_alloc(DSFS_BLOCK, MOVE_STEP);
	if (!move.from.bytes || !move.to.bytes || !move.unwritten) {
		move_close(&move);
		return error_set(err, -ENOMEM, "out of memory");
	}
	*ret = move;
	return 0;
}

void move_close(struct move *move)
{
	free(move->pieces);
	free(move->from.bytes);
	free(move->to.bytes);
	free(move->unwritten);
	*move = (struct move){ 0 };
}

static int move_add(struct move *move, uint64_t from, uint64_t to, uint64_t length, struct error *err)
{
	struct move_piece *pieces;

	if (move->count == move->room) {
		move->room = move->room ? 2 * move->room : 64;
		pieces = reallocarray(move->pieces, move->room, sizeof(*pieces));
		if (!pieces)
			return error_set(err, -ENOMEM, "no memory for %zu moved pieces", move->room);
		move->pieces = pieces;
	}
	move->pieces[move->count++] = (struct move_piece){ from, to, length };
	return 0;
}

static uint64_t move_step(uint64_t length, uint64_t at)
{
	return length - at < MOVE_STEP ? length - at : MOVE_STEP;
}

/* Bytes that are not wanted may be damaged: then without them. */
static int move_load(struct move *move, struct move_window *window, uint64_t offset, uint64_t length, struct error *err)
{
	uint64_t behind = round_down(source_size(move->source, 0), DSFS_BLOCK) - offset;
	uint64_t ahead = behind < MOVE_AHEAD ? behind : MOVE_AHEAD;
	int r = -EIO;

	window->length = 0;
	window->at = offset;
	if (ahead > length)
		r = source_read(move->source, 0, offset, window->bytes, ahead, NULL);
	if (r == 0) {
		window->length = ahead;
		return 0;
	}
	r = source_read(move->source, 0, offset, window->bytes, length, err);
	if (r == 0)
		window->length = length;
	return r;
}

/* At most MOVE_STEP bytes. */
static int move_read(struct move *move, struct move_window *window, uint64_t offset, uint64_t length,
		     const uint8_t **ret, struct error *err)
{
	int r = 0;

	if (offset < window->at || offset + length > window->at + window->length)
		r = move_load(move, window, offset, length, err);
	if (r == 0)
		*ret = window->bytes + (offset - window->at);
	return r;
}

static int move_flush(struct move *move, struct error *err)
{
	uint64_t length = move->unwritten_length;

	if (!length)
		return 0;
	move->unwritten_length = 0;
	return source_write(move->source, 0, move->unwritten_at, move->unwritten, length, err);
}

/* At most MOVE_STEP bytes; they are on their way once move_flush() has returned. */
static int move_write(struct move *move, uint64_t offset, const uint8_t *bytes, uint64_t length, struct error *err)
{
	bool follows = offset == move->unwritten_at + move->unwritten_length;
	int r = 0;

	if (!follows || move->unwritten_length + length > MOVE_STEP)
		r = move_flush(move, err);
	if (r < 0)
		return r;
	if (!move->unwritten_length)
		move->unwritten_at = offset;
	memcpy(move->unwritten + move->unwritten_length, bytes, length);
	move->unwritten_length += length;
	return 0;
}

static int move_transfer(struct move *move, uint64_t from, uint64_t to, uint64_t length, struct error *err)
{
	const uint8_t *bytes;
	uint64_t step;
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < length; at += step) {
		step = move_step(length, at);
		r = interrupt_check(err);
		if (r == 0)
			r = move_read(move, &move->from, from + at, step, &bytes, err);
		if (r == 0)
			r = move_write(move, to + at, bytes, step, err);
	}
	return r;
}

static int move_piece(struct move *move, uint64_t from, uint64_t length, uint64_t *ret_to, struct error *err)
{
	uint64_t to;
	int r = 0;

	space_prefer(move->space, length);
	if (!space_take(move->space, length, SPACE_BLOCK, &to))
		return error_set(err, -ENOSPC, "volume is full: needs %" PRIu64 " more bytes in one piece", length);
	if (!move->is_rehearsal)
		r = move_transfer(move, from, to, length, err);
	if (r < 0)
		return r;
	*ret_to = to;
	return move_add(move, from, to, length, err);
}

int move_copy(struct move *move, uint64_t from, uint64_t length, uint64_t *ret_to, struct error *err)
{
	int r = move_piece(move, from, length, ret_to, err);

	return r < 0 ? r : move_flush(move, err);
}

/* The last block of the piece that begins with first, in a run that ends before end. */
static uint64_t move_last(const struct bits *inside, uint64_t first, uint64_t end, uint64_t most)
{
	uint64_t last = first + most - 1;

	if (end - first <= most)
		return end - 1;
	while (last > first && bits_get(inside, last))
		last--;
	if (last > first)
		return last;
	for (last = first + most - 1; last < end - 1 && bits_get(inside, last); last++)
		continue;
	return last;
}

static uint64_t move_most(uint64_t segment)
{
	return segment / MOVE_PIECES / DSFS_BLOCK;
}

static int move_run(struct move *move, const struct bits *inside, uint64_t first, uint64_t end, struct error *err)
{
	uint64_t most = move_most(move->space->segment), last, to;
	int r;

	for (;; first = last) {
		last = move_last(inside, first, end, most);
		r = move_piece(move, first * DSFS_BLOCK, (last - first + 1) * DSFS_BLOCK, &to, err);
		if (r < 0 || last == end - 1)
			return r;
	}
}

int move_blocks(struct move *move, const struct bits *blocks, const struct bits *inside, struct error *err)
{
	uint64_t first, end;
	int r = 0;

	for (first = bits_next(blocks, 0, true); r == 0 && first < blocks->count;
	     first = bits_next(blocks, end, true)) {
		end = bits_next(blocks, first, false);
		r = move_run(move, inside, first, end, err);
	}
	return r < 0 ? r : move_flush(move, err);
}

static int move_verify_piece(struct move *move, const struct move_piece *piece, struct error *err)
{
	const uint8_t *from, *to;
	uint64_t step;
	int r;

	for (uint64_t at = 0; at < piece->length; at += step) {
		step = move_step(piece->length, at);
		r = interrupt_check(err);
		if (r == 0)
			r = move_read(move, &move->from, piece->from + at, step, &from, err);
		if (r == 0)
			r = move_read(move, &move->to, piece->to + at, step, &to, err);
		if (r < 0)
			return r;
		if (memcmp(from, to, step) != 0)
			return error_set(err, -EIO,
					 "read back at offset %" PRIu64 ": %" PRIu64
					 " bytes are not those at offset %" PRIu64 ", the device is not to be trusted",
					 piece->to + at, step, piece->from + at);
	}
	return 0;
}

int move_verify(struct move *move, struct error *err)
{
	int r = 0;

	move->from.length = move->to.length = 0; /* what was read before the flush proves nothing */
	for (size_t i = 0; r == 0 && i < move->count; i++)
		r = move_verify_piece(move, &move->pieces[i], err);
	return r;
}

/* Two pieces may share a block: what lies in it went with either. */
uint64_t move_find(const struct move *move, uint64_t offset, uint64_t length)
{
	size_t low = 0, high = move->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (move->pieces[middle].from <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i > 0 && i + 2 > low; i--) {
		const struct move_piece *piece = &move->pieces[i - 1];

		if (offset - piece->from < piece->length && length <= piece->length - (offset - piece->from))
			return piece->to + (offset - piece->from);
	}
	return 0;
}

uint64_t move_bytes(const struct move *move)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < move->count; i++)
		bytes += move->pieces[i].length;
	return bytes;
}
