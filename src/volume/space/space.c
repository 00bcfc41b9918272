/* SPDX-License-Identifier: MIT */
/* Finds the free bytes of a volume and allocates them. */
#include "volume/space/space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/round.h"
#include "image/members/address.h"

static int space_compare(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* Lists everything in use, sorted: segments of versions, and the blocks of the catalogue in force. */
static int space_used(const struct catalogue *catalogue, const struct superblock *super, struct extent **ret,
		      size_t *ret_count, struct error *err)
{
	size_t count = 1, n = 0;
	struct extent *used;

	for (uint32_t v = 0; v < catalogue->version_count; v++)
		count += catalogue->versions[v].segments.count;
	used = calloc(count, sizeof(*used));
	if (!used)
		return error_no_memory(err);
	used[n++] = (struct extent){ address_offset(super->catalogue_address),
				     round_up(super->catalogue_length, DSFS_BLOCK) };
	for (uint32_t v = 0; v < catalogue->version_count; v++)
		for (uint32_t i = 0; i < catalogue->versions[v].segments.count; i++)
			used[n++] = (struct extent){ address_offset(catalogue->versions[v].segments.items[i].address),
						     catalogue->versions[v].segments.items[i].length };
	qsort(used, n, sizeof(*used), space_compare);
	*ret = used;
	*ret_count = n;
	return 0;
}

static void space_add_run(struct space *space, uint64_t start, uint64_t end)
{
	if (start < DSFS_DATA_AT)
		start = DSFS_DATA_AT;
	if (start < end)
		space->runs[space->count++] = (struct space_run){ start, start, end };
}

static bool space_is_used(const struct extent *used, size_t count, uint64_t offset)
{
	for (size_t i = 0; i < count; i++)
		if (offset >= used[i].address && offset - used[i].address < used[i].length)
			return true;
	return false;
}

/* Adds the space behind the tail first, up to the end of its segment: it is free even if a version uses the segment. */
static void space_add_tail(struct space *space, const struct extent *used, size_t count, uint64_t tail,
			   uint64_t capacity)
{
	uint64_t end = round_up(tail, space->segment);

	if (tail == 0 || tail >= capacity || tail == end)
		return;
	if (end > capacity)
		end = capacity;
	for (size_t i = 0; i < count; i++)
		if (used[i].address >= tail && used[i].address < end) /* ends at the catalogue */
			end = used[i].address;
	space_add_run(space, tail, end);
}

/* Adds a gap without its part behind the tail. Gaps come in the order of addresses, so that a file grows only when all
 * others are full. */
static void space_add_gap(struct space *space, uint64_t start, uint64_t end, struct space_run tail)
{
	if (tail.start >= start && tail.start < end) {
		space_add_run(space, start, tail.start);
		start = tail.end;
	}
	space_add_run(space, start, end);
}

/* Joins the tail with the only gap, if that follows it. */
static void space_join(struct space *space)
{
	if (space->count != 2 || space->runs[0].end != space->runs[1].start)
		return;
	space->runs[0].end = space->runs[1].end;
	space->count = 1;
}

/* Finds what catalogues may use behind the data. No version may have a segment there: a volume that was a file has data
 * up to its end. */
static void space_find_reserve(struct space *space, const struct extent *used, size_t count, uint64_t start,
			       uint64_t capacity)
{
	struct space_run *run = space->reserve, *end = run + sizeof(space->reserve) / sizeof(*run);

	for (size_t i = 0; i < count && run < end; i++) {
		uint64_t next = used[i].address + used[i].length;

		if (used[i].address > start && start < capacity)
			*run++ = (struct space_run){ start, start,
						     used[i].address < capacity ? used[i].address : capacity };
		if (next > start)
			start = next;
	}
	if (start < capacity && run < end)
		*run = (struct space_run){ start, start, capacity };
}

/* data: where the reserve of a device begins. */
static int space_find_runs(struct space *space, const struct catalogue *catalogue, const struct superblock *super,
			   uint64_t data, uint64_t capacity, struct error *err)
{
	uint64_t tail = address_offset(catalogue->tail), at = 0;
	auto_free struct extent *used = NULL;
	struct space_run first = { UINT64_MAX, 0, 0 };
	size_t count = 0;
	int r;

	r = space_used(catalogue, super, &used, &count, err);
	if (r < 0)
		return r;
	space->runs = calloc(count + 4, sizeof(*space->runs));
	if (!space->runs)
		return error_no_memory(err);
	space_find_reserve(space, used, count, data, capacity);
	space_add_tail(space, used, count, tail, data);
	if (space->count && !space_is_used(used, count, tail))
		first = space->runs[0];
	for (size_t i = 0; i < count; i++) {
		if (used[i].address > at)
			space_add_gap(space, at, used[i].address < data ? used[i].address : data, first);
		if (used[i].address + used[i].length > at)
			at = used[i].address + used[i].length;
	}
	if (at < data)
		space_add_gap(space, at, data, first);
	space_join(space);
	return 0;
}

uint64_t space_reserved(uint64_t capacity)
{
	uint64_t bytes = round_down(capacity / SPACE_RESERVE_PART, DSFS_BLOCK);

	if (bytes > SPACE_RESERVE_MAX)
		return SPACE_RESERVE_MAX;
	return bytes < SPACE_RESERVE_MIN ? SPACE_RESERVE_MIN : bytes;
}

/* Returns where the end of a device begins that is reserved for catalogues, so that there is room for one when all else
 * is full: with a segment, unless that takes too much of a small device. */
static uint64_t space_reserve(uint64_t segment, uint64_t capacity)
{
	uint64_t start = capacity - space_reserved(capacity), whole = round_down(start, segment);

	if (capacity == SPACE_ENDLESS)
		return capacity;
	return capacity - whole <= capacity / SPACE_RESERVE_WHOLE ? whole : start;
}

int space_open(struct space *space, const struct catalogue *catalogue, const struct superblock *super,
	       uint32_t segment_log, uint64_t capacity, struct error *err)
{
	uint64_t data;
	int r;

	*space = (struct space){ .segment = UINT64_C(1) << segment_log };
	capacity = round_down(capacity, DSFS_BLOCK);
	data = space_reserve(space->segment, capacity);
	if (catalogue) {
		space->held_count = round_up(super->member_size, space->segment) / space->segment;
		space->held = calloc(space->held_count / 8 + 1, 1);
		if (!space->held)
			return error_no_memory(err);
		r = space_find_runs(space, catalogue, super, data, capacity, err);
		if (r < 0)
			return r;
	} else {
		space->runs = calloc(1, sizeof(*space->runs));
		if (!space->runs)
			return error_no_memory(err);
		space_add_run(space, DSFS_DATA_AT, data);
		space_find_reserve(space, NULL, 0, data, capacity);
	}
	return 0;
}

int space_open_empty(struct space *space, uint32_t member, const struct members *members, struct error *err)
{
	uint64_t count = 0;

	*space = (struct space){ .member = member, .segment = UINT64_C(1) << members->segment_log };
	for (uint32_t i = 0; i < members->column_count; i++)
		space->held_count += address_member(members->places[i].address) == member;
	space->columns = calloc(space->held_count + 1, sizeof(*space->columns));
	space->held = calloc(space->held_count / 8 + 1, 1);
	if (!space->columns || !space->held)
		return error_no_memory(err);
	for (uint32_t i = 0; i < members->column_count; i++)
		if (address_member(members->places[i].address) == member)
			space->columns[count++] = address_offset(members->places[i].address) / space->segment;
	return 0;
}

int space_add(struct space *space, uint64_t start, uint64_t end, struct error *err)
{
	int r = grow_one(space->runs, space->count, err);

	if (r == 0)
		space->runs[space->count++] = (struct space_run){ start, start, end };
	return r;
}

static void space_cut(struct space *space, uint64_t end)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < space->count; i++) {
		struct space_run run = space->runs[i];

		if (run.end > end)
			run.end = end;
		if (run.start < run.end)
			space->runs[kept++] = run;
	}
	space->count = kept;
}

int space_open_inside(struct space *space, const struct catalogue *catalogue, const struct superblock *super,
		      uint64_t file_size, struct error *err)
{
	uint64_t capacity = file_size ? SPACE_ENDLESS : super->member_size;
	int r = space_open(space, catalogue, super, super->segment_log, capacity, err);

	if (r == 0 && file_size)
		space_cut(space, round_down(file_size, DSFS_BLOCK));
	return r;
}

void space_close(struct space *space)
{
	free(space->runs);
	free(space->held);
	free(space->columns);
	*space = (struct space){ 0 };
}

uint64_t space_free(const struct space *space)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < space->count; i++)
		bytes += space->runs[i].end - space->runs[i].at;
	return bytes;
}

static uint64_t space_position(const struct space_run *run, uint64_t length, enum space_align align)
{
	uint64_t in_block = run->at % DSFS_BLOCK;

	if (align == SPACE_BLOCK || (align == SPACE_WHOLE && length < DSFS_BLOCK && in_block + length > DSFS_BLOCK))
		return round_up(run->at, DSFS_BLOCK);
	return run->at;
}

/* Remembers a gap in the place of the smallest one, if it is larger. */
static void space_add_padding(struct space *space, uint64_t at, uint64_t length)
{
	struct space_gap *least = &space->gaps[0];

	for (uint32_t i = 1; i < SPACE_GAPS; i++)
		if (space->gaps[i].length < least->length)
			least = &space->gaps[i];
	if (length > least->length)
		*least = (struct space_gap){ at, (uint32_t)length };
}

/* Takes the beginning of the smallest gap that is large enough. */
static bool space_take_gap(struct space *space, uint64_t length, uint64_t *ret_offset)
{
	struct space_gap *best = NULL;

	for (uint32_t i = 0; i < SPACE_GAPS; i++)
		if (space->gaps[i].length >= length && (!best || space->gaps[i].length < best->length))
			best = &space->gaps[i];
	if (!best)
		return false;
	*ret_offset = best->at;
	best->at += length;
	best->length -= (uint32_t)length;
	return true;
}

void space_forget_gaps(struct space *space)
{
	memset(space->gaps, 0, sizeof(space->gaps));
}

static bool space_run_take(struct space_run *run, uint64_t length, enum space_align align, uint64_t *ret_offset)
{
	uint64_t at = space_position(run, length, align);

	if (at > run->end || length > run->end - at)
		return false;
	*ret_offset = at;
	run->at = at + length;
	return true;
}

static bool space_run_fits(const struct space_run *run, uint64_t length)
{
	uint64_t at = round_up(run->at, DSFS_BLOCK);

	return at <= run->end && length <= run->end - at;
}

/* Ends the former run, and begins the new one, on a whole block. */
void space_prefer(struct space *space, uint64_t length)
{
	struct space_run *runs = space->runs;

	if (!space->count || space_run_fits(&runs[space->current], length))
		return;
	for (uint32_t i = 0; i < space->count; i++) {
		if (!space_run_fits(&runs[i], length))
			continue;
		runs[space->current].at = round_up(runs[space->current].at, DSFS_BLOCK);
		runs[i].at = round_up(runs[i].at, DSFS_BLOCK);
		space->current = i;
		return;
	}
}

/* Takes bytes in the current run; what it skips to get to a block becomes a gap. */
static bool space_take_current(struct space *space, uint64_t length, enum space_align align, uint64_t *ret_offset)
{
	struct space_run *run = &space->runs[space->current];
	uint64_t at = run->at;

	if (!space_run_take(run, length, align, ret_offset))
		return false;
	space_add_padding(space, at, *ret_offset - at);
	return true;
}

/* Prefers the current run while it has room, then the first that has. */
bool space_take(struct space *space, uint64_t length, enum space_align align, uint64_t *ret_offset)
{
	if (!space->count)
		return false;
	if (align == SPACE_WHOLE && space_take_gap(space, length, ret_offset))
		return true;
	if (space_take_current(space, length, align, ret_offset))
		return true;
	space_prefer(space, length);
	return space_take_current(space, length, align, ret_offset);
}

bool space_take_catalogue(struct space *space, uint64_t length, uint64_t *ret_offset)
{
	return space_take(space, length, SPACE_BLOCK, ret_offset) ||
	       space_run_take(&space->reserve[0], length, SPACE_BLOCK, ret_offset) ||
	       space_run_take(&space->reserve[1], length, SPACE_BLOCK, ret_offset);
}

uint64_t space_taken(const struct space *space)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < space->count; i++)
		bytes += round_up(space->runs[i].at, DSFS_BLOCK) - space->runs[i].start;
	return bytes;
}

/* Returns 0 if something lies between the tail and the end of its segment, as runs may share a segment. */
uint64_t space_tail(const struct space *space)
{
	uint64_t at;

	if (!space->count)
		return 0;
	at = round_up(space->runs[space->current].at, DSFS_BLOCK);
	for (uint32_t i = 0; i < space->count; i++)
		if (space->runs[i].at > space->runs[i].start && space->runs[i].at > at &&
		    space->runs[i].start < round_up(at, space->segment))
			return 0;
	return at % space->segment ? at : 0;
}

static int space_compare_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Returns the bit of a segment; held_count or more: it has none. */
static uint64_t space_bit(const struct space *space, uint64_t segment)
{
	const uint64_t *found;

	if (!space->columns)
		return segment;
	found = bsearch(&segment, space->columns, space->held_count, sizeof(segment), space_compare_number);
	return found ? (uint64_t)(found - space->columns) : space->held_count;
}

void space_hold(struct space *space, uint64_t offset, uint64_t length)
{
	for (uint64_t s = offset / space->segment; s <= (offset + length - 1) / space->segment; s++) {
		uint64_t bit = space_bit(space, s);

		if (bit < space->held_count)
			space->held[bit / 8] |= (uint8_t)(1u << (bit % 8));
	}
}

static void space_mark_runs(const struct space *space, uint8_t *map)
{
	for (uint32_t i = 0; i < space->count; i++) {
		const struct space_run *run = &space->runs[i];

		for (uint64_t s = run->start / space->segment;
		     run->at > run->start && s * space->segment < run->at; s++)
			map[s / 8] |= (uint8_t)(1u << (s % 8));
	}
}

/* Marks held segments in a map of count segments; returns the first bit that lies beyond. */
static uint64_t space_mark_held(const struct space *space, uint8_t *map, uint64_t count)
{
	uint64_t i, s;

	for (i = 0; i < space->held_count; i++) {
		s = space->columns ? space->columns[i] : i;
		if (s >= count)
			break;
		if (space->held[i / 8] >> (i % 8) & 1)
			map[s / 8] |= (uint8_t)(1u << (s % 8));
	}
	return i;
}

static int space_list(const struct space *space, uint64_t segment, struct extent_list *list, struct error *err)
{
	return extent_list_add(list, address_make(space->member, segment * space->segment), space->segment, err);
}

int space_segments(const struct space *space, struct extent_list *list, struct error *err)
{
	uint64_t count = round_up(space_end(space), space->segment) / space->segment, beyond;
	auto_free uint8_t *map = NULL;
	int r = 0;

	if (!space->columns && count < space->held_count)
		count = space->held_count;
	map = calloc(count / 8 + 1, 1);
	if (!map)
		return error_no_memory(err);
	beyond = space_mark_held(space, map, count);
	space_mark_runs(space, map);
	for (uint64_t s = 0; r == 0 && s < count; s++)
		if (map[s / 8] >> (s % 8) & 1)
			r = space_list(space, s, list, err);
	for (uint64_t i = beyond; r == 0 && i < space->held_count; i++)
		if (space->held[i / 8] >> (i % 8) & 1)
			r = space_list(space, space->columns[i], list, err);
	return r;
}

uint64_t space_end(const struct space *space)
{
	uint64_t end = DSFS_DATA_AT;

	for (uint32_t i = 0; i < space->count; i++)
		if (space->runs[i].at > space->runs[i].start && space->runs[i].at > end)
			end = space->runs[i].at;
	return round_up(end, DSFS_BLOCK);
}
