/* SPDX-License-Identifier: MIT */
/* Keeps pieces in the order of copying, which is that of their old addresses. */
#include "volume/compaction/relocate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/huge.h"
#include "base/program/interrupt.h"
#include "base/round.h"
#include "image/members/address.h"

#define RELOCATE_STEP   (1u << 20)   /* most bytes of a read or write */
#define RELOCATE_AHEAD  (128u << 10) /* least bytes of a read: runs of a few blocks lie close to each other */
#define RELOCATE_PIECES 8u /* pieces of a segment: free segments that are not adjacent waste at most one piece each */

int relocate_open(struct backing backing, struct allocator *allocator, bool rehearse, struct relocate *ret,
		  struct error *err)
{
	struct relocate relocate = {
		.source = backing.source, .allocator = allocator, .is_rehearsal = rehearse, .from.backing = backing,
		.to.backing = { .source = backing.source } /* each copy is read at its own address */
	};

	relocate.from.bytes = huge_alloc(RELOCATE_STEP);
	relocate.to.bytes = huge_alloc(RELOCATE_STEP);
	relocate.unwritten = aligned_alloc(DSFS_BLOCK, RELOCATE_STEP);
	if (!relocate.from.bytes || !relocate.to.bytes || !relocate.unwritten) {
		relocate_close(&relocate);
		return error_no_memory(err);
	}
	*ret = relocate;
	return 0;
}

void relocate_close(struct relocate *relocate)
{
	free(relocate->pieces);
	free(relocate->from.bytes);
	free(relocate->to.bytes);
	free(relocate->unwritten);
	*relocate = (struct relocate){ 0 };
}

static int relocate_add(struct relocate *relocate, uint64_t from, uint64_t to, uint64_t length, struct error *err)
{
	int r = grow(relocate->pieces, relocate->room, relocate->count + 1, err);

	if (r == 0)
		relocate->pieces[relocate->count++] = (struct relocate_piece){ from, to, length };
	return r;
}

static uint64_t relocate_step(uint64_t length, uint64_t at)
{
	return length - at < RELOCATE_STEP ? length - at : RELOCATE_STEP;
}

/* Returns the bytes that one read can get: up to the end of the member, and of a group's column. */
static uint64_t relocate_behind(const struct relocate *relocate, uint64_t address)
{
	uint64_t size = round_down(source_size(relocate->source, address_member(address)), DSFS_BLOCK);
	uint64_t offset = address_offset(address), room = allocator_room_in_group(relocate->allocator, offset);

	return offset >= size ? 0 : size - offset < room ? size - offset : room;
}

/* Loads the window with following bytes, or without them: these are not needed and may be damaged. */
static int relocate_load(struct relocate *relocate, struct relocate_window *window, uint64_t address, uint64_t length,
			 struct error *err)
{
	uint64_t behind = relocate_behind(relocate, address);
	uint64_t ahead = behind < RELOCATE_AHEAD ? behind : RELOCATE_AHEAD;
	int r = -EIO;

	window->length = 0;
	window->at = address;
	if (ahead > length)
		r = backing_read(window->backing, address, window->turn, window->bytes, ahead, NULL);
	if (r == 0) {
		window->length = ahead;
		return 0;
	}
	r = backing_read(window->backing, address, window->turn, window->bytes, length, err);
	if (r == 0)
		window->length = length;
	return r;
}

/* Returns bytes at an address, at most RELOCATE_STEP. */
static int relocate_read(struct relocate *relocate, struct relocate_window *window, uint64_t address, uint64_t length,
			 const uint8_t **ret, struct error *err)
{
	int r = 0;

	if (address < window->at || address + length > window->at + window->length)
		r = relocate_load(relocate, window, address, length, err);
	if (r == 0)
		*ret = window->bytes + (address - window->at);
	return r;
}

static int relocate_flush(struct relocate *relocate, struct error *err)
{
	uint64_t length = relocate->unwritten_length, places[DSFS_COPIES_MAX];
	uint32_t count = length ? allocator_copies(relocate->allocator, relocate->unwritten_at, places) : 0;
	int r = 0;

	relocate->unwritten_length = 0;
	for (uint32_t i = 0; r == 0 && i < count; i++)
		r = source_write(relocate->source, address_member(places[i]), address_offset(places[i]),
				 relocate->unwritten, length, err);
	return r;
}

/* Whether the address is in the same column, right behind the bytes that are not written yet. */
static bool relocate_follows(const struct relocate *relocate, uint64_t address)
{
	uint64_t begin = address_offset(relocate->unwritten_at), length = relocate->unwritten_length;

	return address == relocate->unwritten_at + length &&
	       length < allocator_room_in_group(relocate->allocator, begin);
}

/* Writes at most RELOCATE_STEP bytes, the last of them only in relocate_flush(). */
static int relocate_write(struct relocate *relocate, uint64_t address, const uint8_t *bytes, uint64_t length,
			  struct error *err)
{
	int r = 0;

	if (!relocate_follows(relocate, address) || relocate->unwritten_length + length > RELOCATE_STEP)
		r = relocate_flush(relocate, err);
	if (r < 0)
		return r;
	if (!relocate->unwritten_length)
		relocate->unwritten_at = address;
	memcpy(relocate->unwritten + relocate->unwritten_length, bytes, length);
	relocate->unwritten_length += length;
	return 0;
}

static int relocate_transfer(struct relocate *relocate, uint64_t from, uint64_t to, uint64_t length, struct error *err)
{
	const uint8_t *bytes;
	uint64_t step;
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < length; at += step) {
		step = relocate_step(length, at);
		r = interrupt_check(err);
		if (r == 0)
			r = relocate_read(relocate, &relocate->from, from + at, step, &bytes, err);
		if (r == 0)
			r = relocate_write(relocate, to + at, bytes, step, err);
	}
	return r;
}

static int relocate_piece(struct relocate *relocate, uint64_t from, uint64_t length, uint64_t *ret_to,
			  struct error *err)
{
	uint64_t to;
	int r = 0;

	if (relocate->levels)
		allocator_level(relocate->allocator, length);
	else
		allocator_prefer(relocate->allocator, address_member(from));
	if (!allocator_take(relocate->allocator, length, SPACE_BLOCK, &to))
		return allocator_full_piece(relocate->allocator, length, err);
	if (!relocate->is_rehearsal)
		r = relocate_transfer(relocate, from, to, length, err);
	if (r < 0)
		return r;
	*ret_to = to;
	return relocate_add(relocate, from, to, length, err);
}

int relocate_copy(struct relocate *relocate, uint64_t from, uint64_t length, uint64_t *ret_to, struct error *err)
{
	int r = relocate_piece(relocate, from, length, ret_to, err);

	return r < 0 ? r : relocate_flush(relocate, err);
}

/* Returns the last block of a piece that begins with first, in a run that ends before end. The piece has at most
 * `most` blocks, unless that would cut a file. */
static uint64_t relocate_last(const struct bits *inside, uint64_t first, uint64_t end, uint64_t most)
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

static int relocate_run(struct relocate *relocate, const struct line *line, const struct bits *inside, uint64_t first,
			uint64_t end, struct error *err)
{
	uint64_t most = line->segment / RELOCATE_PIECES / DSFS_BLOCK, last, to;
	int r;

	for (;; first = last) {
		last = relocate_last(inside, first, end, most);
		r = relocate_piece(relocate, line_address(line, first * DSFS_BLOCK), (last - first + 1) * DSFS_BLOCK,
				   &to, err);
		if (r < 0 || last == end - 1)
			return r;
	}
}

int relocate_blocks(struct relocate *relocate, const struct line *line, const struct bits *blocks,
		    const struct bits *inside, struct error *err)
{
	uint64_t first, end, room;
	int r = 0;

	for (first = bits_next(blocks, 0, true); r == 0 && first < blocks->count;
	     first = bits_next(blocks, end, true)) {
		end = bits_next(blocks, first, false);
		room = allocator_room_in_group(relocate->allocator, first * DSFS_BLOCK) / DSFS_BLOCK;
		if (end - first > room)
			end = first + room;
		r = relocate_run(relocate, line, inside, first, end, err);
	}
	return r < 0 ? r : relocate_flush(relocate, err);
}

/* Explains a difference. Only sums tell which of two copies is right; a copy that was not read may be lost. */
static int relocate_doubt(const struct relocate *relocate, uint64_t from, uint64_t to, const uint8_t *was,
			  uint64_t length, struct error *err)
{
	uint32_t turn = relocate->from.turn + 1;
	int r = backing_read(relocate->from.backing, from, turn, relocate->unwritten, length, err);

	if (r == 0 && memcmp(relocate->unwritten, was, length) != 0)
		return error_set(err, -EBADMSG,
				 "%" PRIu64 " bytes at offset %" PRIu64 " of member %" PRIu32
				 " are not what their copies are: 'datasetfsctl scrub --repair' mends that first",
				 length, address_offset(from), address_member(from));
	return error_set(err, -EIO,
			 "read back at offset %" PRIu64 ": %" PRIu64 " bytes are not those at offset %" PRIu64
			 ", do not trust the device",
			 address_offset(to), length, address_offset(from));
}

/* Compares at most RELOCATE_STEP bytes with their copy. */
static int relocate_compare(struct relocate *relocate, uint64_t from, uint64_t to, uint64_t length, struct error *err)
{
	const uint8_t *was, *is;
	int r = relocate_read(relocate, &relocate->from, from, length, &was, err);

	if (r == 0)
		r = relocate_read(relocate, &relocate->to, to, length, &is, err);
	if (r == 0 && memcmp(was, is, length) != 0)
		r = relocate_doubt(relocate, from, to, was, length, err);
	return r;
}

static int relocate_verify_piece(struct relocate *relocate, const struct relocate_piece *piece, uint32_t copy,
				 struct error *err)
{
	uint64_t step, places[DSFS_COPIES_MAX];
	int r = 0;

	if (copy >= allocator_copies(relocate->allocator, piece->to, places))
		return 0;
	for (uint64_t at = 0; r == 0 && at < piece->length; at += step) {
		step = relocate_step(piece->length, at);
		r = interrupt_check(err);
		if (r == 0)
			r = relocate_compare(relocate, piece->from + at, places[copy] + at, step, err);
	}
	return r;
}

int relocate_verify(struct relocate *relocate, struct error *err)
{
	int r = 0;

	for (uint32_t copy = 0; r == 0 && copy < DSFS_COPIES_MAX; copy++) {
		relocate->from.length = relocate->to.length = 0; /* reads before the flush prove nothing */
		relocate->from.turn = copy + 1;
		for (size_t i = 0; r == 0 && i < relocate->count; i++)
			r = relocate_verify_piece(relocate, &relocate->pieces[i], copy, err);
	}
	return r;
}

/* Tries the piece before as well: two may share a block, which moved with either. */
uint64_t relocate_find(const struct relocate *relocate, uint64_t address, uint64_t length)
{
	size_t low = 0, high = relocate->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (relocate->pieces[middle].from <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i > 0 && i + 2 > low; i--) {
		const struct relocate_piece *piece = &relocate->pieces[i - 1];

		if (address - piece->from < piece->length && length <= piece->length - (address - piece->from))
			return piece->to + (address - piece->from);
	}
	return 0;
}

uint64_t relocate_bytes(const struct relocate *relocate)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < relocate->count; i++)
		bytes += relocate->pieces[i].length;
	return bytes;
}
