/* SPDX-License-Identifier: MIT */
/* Implements lanes: the member for the next bytes, and the segments that a lane takes. */
#include "volume/space/allocator.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/round.h"
#include "base/text/format.h"
#include "image/members/address.h"

#define ALLOCATOR_CATALOGUES (UINT64_C(4) << 20)  /* least bytes behind DSFS_DATA_AT that no group gets */
#define ALLOCATOR_SEGMENTS   (UINT64_C(1) << 26) /* segments of a file, which has no end */

/* --- a volume of one member --- */

int allocator_open(struct allocator *allocator, const struct catalogue *catalogue, const struct superblock *super,
		   uint32_t segment_log, uint64_t capacity, struct error *err)
{
	struct lane *lane = calloc(1, sizeof(*lane));
	int r;

	if (!lane)
		return error_no_memory(err);
	*allocator = (struct allocator){ .lanes = lane, .lane_count = 1 };
	r = space_open(&lane->space, catalogue, super, segment_log, capacity, err);
	if (r < 0)
		allocator_close(allocator);
	return r;
}

void allocator_close(struct allocator *allocator)
{
	for (uint32_t i = 0; i < allocator->lane_count; i++) {
		space_close(&allocator->lanes[i].space);
		free(allocator->lanes[i].groups);
		if (allocator->used)
			bits_close(&allocator->used[i]);
	}
	free(allocator->lanes);
	free(allocator->used);
	free(allocator->list);
	*allocator = (struct allocator){ 0 };
}

/* --- segments outside groups --- */

/* Returns the end of the place for the first catalogues. */
static uint64_t allocator_catalogues_end(const struct allocator *allocator)
{
	return round_up(DSFS_DATA_AT + ALLOCATOR_CATALOGUES, allocator->segment);
}

uint64_t allocator_least(uint64_t segment)
{
	return allocator_catalogues_end(&(struct allocator){ .segment = segment }) + segment;
}

static void allocator_use(struct bits *used, uint64_t segment, struct extent bytes)
{
	uint64_t first = bytes.address / segment;

	if (bytes.length)
		bits_set(used, first, (bytes.address + bytes.length - 1) / segment - first + 1);
}

static int allocator_open_used(struct allocator *allocator, uint32_t number, const struct allocator_member *member,
			       struct error *err)
{
	uint64_t segment = allocator->segment, capacity = member->capacity;
	struct bits *used = &allocator->used[number];
	int r = bits_open(used, capacity == SPACE_ENDLESS ? ALLOCATOR_SEGMENTS : capacity / segment, err);

	if (r < 0)
		return r;
	allocator_use(used, segment, (struct extent){ 0, allocator_catalogues_end(allocator) });
	allocator_use(used, segment, member->catalogue);
	if (capacity != SPACE_ENDLESS)
		allocator_use(used, segment, (struct extent){ capacity - space_reserved(capacity), capacity });
	return 0;
}

static void allocator_use_groups(struct allocator *allocator)
{
	const struct members *members = allocator->members;

	for (uint32_t i = 0; i < members->column_count; i++)
		bits_set(&allocator->used[address_member(members->columns[i])],
			 address_offset(members->columns[i]) / allocator->segment, 1);
}

/* --- lanes --- */

static bool allocator_shares_domain(const struct allocator *allocator, const struct lane *lane, uint32_t member)
{
	const struct member *list = allocator->members->list;

	for (uint32_t i = 0; i < lane->column_count; i++)
		if (list[member].domain[0] && !strcmp(list[lane->columns[i]].domain, list[member].domain))
			return true;
	return false;
}

static bool allocator_is_there(const struct allocator *allocator, uint32_t member)
{
	return allocator->members->list[member].state != DSFS_MEMBER_STALE;
}

static bool allocator_has_column(const struct lane *lane, uint32_t member)
{
	for (uint32_t i = 0; i < lane->column_count; i++)
		if (lane->columns[i] == member)
			return true;
	return false;
}

/* Whether the member may get the next copy, in each of three tries: members that are there and in no failure domain of
 * the lane; any others that are there; missing ones, which get their copy when they are back. */
static bool allocator_suits(const struct allocator *allocator, const struct lane *lane, uint32_t member, unsigned try)
{
	if (allocator_has_column(lane, member) || (try < 2 && !allocator_is_there(allocator, member)))
		return false;
	return try || !allocator_shares_domain(allocator, lane, member);
}

/* Returns how many lanes before this one have the same copy on the member. */
static uint32_t allocator_load(const struct allocator *allocator, uint32_t number, uint32_t copy, uint32_t member)
{
	uint32_t load = 0;

	for (uint32_t i = 0; i < number; i++)
		load += allocator->lanes[i].column_count > copy && allocator->lanes[i].columns[copy] == member;
	return load;
}

/* Returns the suitable member with the fewest of these copies; of several the first one behind the data's member,
 * round about. */
static uint32_t allocator_next_column(const struct allocator *allocator, uint32_t number, unsigned try)
{
	const struct lane *lane = &allocator->lanes[number];
	uint32_t best = UINT32_MAX, least = UINT32_MAX;

	for (uint32_t i = 1; i < allocator->lane_count; i++) {
		uint32_t member = (number + i) % allocator->lane_count, load;

		if (!allocator_suits(allocator, lane, member, try))
			continue;
		load = allocator_load(allocator, number, lane->column_count, member);
		if (load < least) {
			best = member;
			least = load;
		}
	}
	return best;
}

static void allocator_choose_columns(struct allocator *allocator, uint32_t number, uint32_t copies)
{
	struct lane *lane = &allocator->lanes[number];
	uint32_t member;

	lane->columns[0] = number;
	lane->column_count = 1;
	for (unsigned try = 0; try < 3; try++)
		while (lane->column_count < copies &&
		       (member = allocator_next_column(allocator, number, try)) != UINT32_MAX)
			lane->columns[lane->column_count++] = member;
}

const char *allocator_shared_domain(const struct allocator *allocator)
{
	for (uint32_t i = 0; i < allocator->lane_count; i++) {
		struct lane first = allocator->lanes[i];

		while (first.column_count-- > 1) {
			uint32_t last = first.columns[first.column_count];

			if (allocator_shares_domain(allocator, &first, last))
				return allocator->members->list[last].domain;
		}
	}
	return NULL;
}

static bool allocator_is_of_lane(const struct allocator *allocator, const struct lane *lane,
				 const struct member_group *group)
{
	const uint64_t *columns = &allocator->members->columns[group->first_column];

	if (group->kind != DSFS_GROUP_COPIES || 1u + group->redundant != lane->column_count)
		return false;
	for (uint32_t i = 0; i < lane->column_count; i++)
		if (address_member(columns[i]) != lane->columns[i])
			return false;
	return true;
}

static int allocator_add_run(struct allocator *allocator, struct lane *lane, uint32_t number, struct error *err)
{
	const struct member_group *group = &allocator->members->groups[number];
	uint64_t start = address_offset(allocator->members->columns[group->first_column]);
	int r = grow_one(lane->groups, lane->space.count, err);

	if (r < 0)
		return r;
	lane->groups[lane->space.count] = number;
	return space_add(&lane->space, start + group->tail, start + allocator->segment, err);
}

/* Whether a stale member has the group as it was then: the group must stay like that. */
static bool allocator_is_kept(const struct allocator *allocator, const struct member_group *group)
{
	const struct members *members = allocator->members;

	for (uint32_t i = 0; i <= group->redundant; i++) {
		const struct member *member = &members->list[address_member(members->columns[group->first_column + i])];

		if (member->state == DSFS_MEMBER_STALE && group->birth <= member->stale_sequence)
			return true;
	}
	return false;
}

/* Begins with groups that are not full. */
static int allocator_continue_groups(struct allocator *allocator, struct lane *lane, struct error *err)
{
	const struct members *members = allocator->members;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < members->group_count; i++)
		if (members->groups[i].tail < allocator->segment &&
		    allocator_is_of_lane(allocator, lane, &members->groups[i]) &&
		    !allocator_is_kept(allocator, &members->groups[i]))
			r = allocator_add_run(allocator, lane, i, err);
	return r;
}

static int allocator_open_lane(struct allocator *allocator, uint32_t number, uint64_t weight, uint32_t copies,
			       struct error *err)
{
	struct lane *lane = &allocator->lanes[number];
	int r = space_open_empty(&lane->space, number, allocator->members, err);

	lane->weight = weight;
	if (r < 0 || !allocator_is_there(allocator, number))
		return r;
	allocator_choose_columns(allocator, number, copies);
	return allocator_continue_groups(allocator, lane, err);
}

/* Whether any member is a file: files have no end, so sizes cannot be compared. */
static bool allocator_has_file(const struct allocator *allocator)
{
	for (uint32_t i = 0; i < allocator->lane_count; i++)
		if (allocator->list[i].capacity == SPACE_ENDLESS)
			return true;
	return false;
}

static int allocator_alloc(struct allocator *allocator, const struct allocator_member *list, uint32_t count,
			   struct error *err)
{
	allocator->lanes = calloc(count, sizeof(*allocator->lanes));
	allocator->used = calloc(count, sizeof(*allocator->used));
	allocator->list = calloc(count, sizeof(*allocator->list));
	if (!allocator->lanes || !allocator->used || !allocator->list)
		return error_no_memory(err);
	memcpy(allocator->list, list, count * sizeof(*list));
	allocator->lane_count = count;
	return 0;
}

int allocator_open_members(struct allocator *allocator, struct members *members, const struct allocator_member *list,
			   uint32_t copies, uint64_t birth, struct error *err)
{
	uint32_t count = members->count;
	bool sizes;
	int r;

	*allocator = (struct allocator){ .members = members, .birth = birth };
	allocator->segment = UINT64_C(1) << members->segment_log;
	r = allocator_alloc(allocator, list, count, err);
	for (uint32_t i = 0; r == 0 && i < count; i++)
		r = allocator_open_used(allocator, i, &list[i], err);
	if (r == 0)
		allocator_use_groups(allocator);
	sizes = !allocator_has_file(allocator);
	for (uint32_t i = 0; r == 0 && i < count; i++)
		r = allocator_open_lane(allocator, i, sizes ? list[i].capacity : 1, copies, err);
	if (r < 0)
		allocator_close(allocator);
	return r;
}

/* Returns the first lane that is open. */
static uint32_t allocator_first(const struct allocator *allocator)
{
	uint32_t first = 0;

	while (first + 1 < allocator->lane_count && !allocator->lanes[first].column_count)
		first++;
	return first;
}

/* --- placing bytes --- */

static unsigned allocator_class(uint64_t length)
{
	return length ? 63u - (unsigned)__builtin_clzll(length) : 0;
}

static int allocator_compare_load(const struct lane *a, uint64_t a_bytes, const struct lane *b, uint64_t b_bytes)
{
	unsigned __int128 x = (unsigned __int128)a_bytes * b->weight, y = (unsigned __int128)b_bytes * a->weight;

	return (x > y) - (x < y);
}

static bool allocator_is_emptier(const struct lane *a, const struct lane *b)
{
	return allocator_compare_load(a, a->bytes, b, b->bytes) < 0;
}

static bool allocator_is_emptier_of(const struct lane *a, const struct lane *b, unsigned class)
{
	int order = allocator_compare_load(a, a->class_bytes[class], b, b->class_bytes[class]);

	return order < 0 || (order == 0 && allocator_is_emptier(a, b));
}

static void allocator_count(struct lane *lane, uint64_t length)
{
	lane->bytes += length;
	lane->class_bytes[allocator_class(length)] += length;
}

void allocator_choose(struct allocator *allocator, uint64_t length)
{
	unsigned class = allocator_class(length);
	uint32_t best;

	if (!allocator->members)
		return;
	best = allocator_first(allocator);
	for (uint32_t i = best + 1; i < allocator->lane_count; i++)
		if (allocator->lanes[i].column_count &&
		    allocator_is_emptier_of(&allocator->lanes[i], &allocator->lanes[best], class))
			best = i;
	allocator->current = best;
	allocator_count(&allocator->lanes[best], length);
}

void allocator_level(struct allocator *allocator, uint64_t length)
{
	uint32_t best = allocator_first(allocator);

	for (uint32_t i = best + 1; i < allocator->lane_count; i++)
		if (allocator->lanes[i].column_count &&
		    allocator_is_emptier(&allocator->lanes[i], &allocator->lanes[best]))
			best = i;
	allocator->current = best;
	allocator_count(&allocator->lanes[best], length);
}

void allocator_prefer(struct allocator *allocator, uint32_t member)
{
	allocator->current = member < allocator->lane_count ? member : 0;
}

void allocator_leave(struct allocator *allocator, uint64_t column)
{
	struct lane *lane = &allocator->lanes[address_member(column)];
	uint32_t kept = 0;

	for (uint32_t i = 0; i < lane->space.count; i++) {
		if (round_down(lane->space.runs[i].start, allocator->segment) == address_offset(column))
			continue;
		lane->space.runs[kept] = lane->space.runs[i];
		lane->groups[kept++] = lane->groups[i];
	}
	lane->space.count = kept;
}

void allocator_begin_large(struct allocator *allocator, uint64_t length)
{
	if (!allocator->members)
		space_prefer(&allocator->lanes[0].space, length);
}

/* Finds a free segment on each member of the lane's columns. */
static bool allocator_find_segments(const struct allocator *allocator, const struct lane *lane, uint64_t *columns)
{
	for (uint32_t i = 0; i < lane->column_count; i++) {
		const struct bits *used = &allocator->used[lane->columns[i]];
		uint64_t segment = bits_next(used, 0, false);

		if (segment == used->count)
			return false;
		columns[i] = address_make(lane->columns[i], segment * allocator->segment);
	}
	return true;
}

static int allocator_open_group(struct allocator *allocator, struct lane *lane, struct error *err)
{
	struct member_group group = { .birth = allocator->birth, .kind = DSFS_GROUP_COPIES, .data = 1,
			       .redundant = (uint8_t)(lane->column_count - 1) };
	uint64_t columns[DSFS_COPIES_MAX];
	int r;

	if (!allocator_find_segments(allocator, lane, columns))
		return error_set(err, -ENOSPC, "no segment is free on member %" PRIu32 " or those of its copies",
				 lane->columns[0]);
	r = members_add_group(allocator->members, &group, columns, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < lane->column_count; i++)
		bits_set(&allocator->used[lane->columns[i]], address_offset(columns[i]) / allocator->segment, 1);
	return allocator_add_run(allocator, lane, allocator->members->group_count - 1, err);
}

static bool allocator_take_in(struct allocator *allocator, struct lane *lane, uint64_t length, enum space_align align,
			      uint64_t *ret_address)
{
	uint64_t offset;

	if (allocator->members && !lane->column_count)
		return false;
	if (!space_take(&lane->space, length, align, &offset) &&
	    (!allocator->members || length > allocator->segment || allocator_open_group(allocator, lane, NULL) < 0 ||
	     !space_take(&lane->space, length, align, &offset)))
		return false;
	*ret_address = address_make(lane->space.member, offset);
	return true;
}

bool allocator_take(struct allocator *allocator, uint64_t length, enum space_align align, uint64_t *ret_address)
{
	for (uint32_t i = 0; i < allocator->lane_count; i++) {
		uint32_t number = (allocator->current + i) % allocator->lane_count;

		if (!allocator_take_in(allocator, &allocator->lanes[number], length, align, ret_address))
			continue;
		allocator->current = number;
		return true;
	}
	return false;
}

uint32_t allocator_copies(const struct allocator *allocator, uint64_t address, uint64_t ret[DSFS_COPIES_MAX])
{
	if (allocator->members)
		return members_copies(allocator->members, address, ret);
	ret[0] = address;
	return 1;
}

uint64_t allocator_room_in_group(const struct allocator *allocator, uint64_t offset)
{
	return allocator->members ? allocator->segment - offset % allocator->segment : UINT64_MAX;
}

void allocator_hold(struct allocator *allocator, uint64_t address, uint64_t length)
{
	struct lane *lane = &allocator->lanes[address_member(address)];
	const struct member_group *group;

	space_hold(&lane->space, address_offset(address), length);
	if (!allocator->members)
		return;
	allocator_count(lane, length);
	group = members_group(allocator->members, address);
	if (group && 1u + group->redundant < allocator->lanes[allocator_first(allocator)].column_count)
		allocator->held_below += length;
}

/* --- catalogues --- */

static bool allocator_fits(struct extent room, struct extent taken, uint64_t length, uint64_t *ret_offset)
{
	uint64_t at = round_up(room.address, DSFS_BLOCK), end = room.address + room.length;

	if (taken.length && taken.address < end && at < taken.address + taken.length && taken.address < at + length)
		at = round_up(taken.address + taken.length, DSFS_BLOCK);
	*ret_offset = at;
	return at <= end && length <= end - at;
}

/* Finds free segments one behind the other. */
static bool allocator_find_row(const struct bits *used, uint64_t count, uint64_t *ret_first)
{
	uint64_t first = bits_next(used, 0, false), end;

	while (first < used->count) {
		end = bits_next(used, first, true);
		if (end - first >= count) {
			*ret_first = first;
			return true;
		}
		first = bits_next(used, end, false);
	}
	return false;
}

/* Whether a column ends behind this offset: a member that was a file has columns up to its end. */
static bool allocator_has_column_behind(const struct allocator *allocator, uint32_t member, uint64_t offset)
{
	const struct members *members = allocator->members;

	for (uint32_t i = 0; i < members->column_count; i++)
		if (address_member(members->columns[i]) == member &&
		    address_offset(members->columns[i]) + allocator->segment > offset)
			return true;
	return false;
}

static bool allocator_take_outside_groups(struct allocator *allocator, uint32_t member, uint64_t length,
					  uint64_t *ret_offset)
{
	const struct allocator_member *about = &allocator->list[member];
	struct extent room = { DSFS_DATA_AT, allocator_catalogues_end(allocator) - DSFS_DATA_AT };
	uint64_t reserved = space_reserved(about->capacity), first;

	if (allocator_fits(room, about->catalogue, length, ret_offset))
		return true;
	room = (struct extent){ about->capacity - reserved, reserved };
	if (about->capacity != SPACE_ENDLESS && !allocator_has_column_behind(allocator, member, room.address) &&
	    allocator_fits(room, about->catalogue, length, ret_offset))
		return true;
	if (!allocator_find_row(&allocator->used[member], round_up(length, allocator->segment) / allocator->segment,
				&first))
		return false;
	*ret_offset = first * allocator->segment;
	return true;
}

bool allocator_take_catalogue(struct allocator *allocator, uint32_t member, uint64_t length, uint64_t *ret_offset)
{
	return allocator->members ? allocator_take_outside_groups(allocator, member, length, ret_offset) :
				    space_take_catalogue(&allocator->lanes[0].space, length, ret_offset);
}

void allocator_keep_catalogue(struct allocator *allocator, uint32_t member, struct extent catalogue)
{
	allocator->list[member].catalogue = catalogue;
	allocator_use(&allocator->used[member], allocator->segment, catalogue);
}

/* --- sums over the lanes --- */

/* Counts free segments outside groups, on members that are there, divided by the number of copies. */
/* Returns 0 also if no lane can take anything. */
static uint64_t allocator_free_segments(const struct allocator *allocator)
{
	uint32_t columns = allocator->members ? allocator->lanes[allocator_first(allocator)].column_count : 0;
	uint64_t segments = 0;

	for (uint32_t i = 0; columns && i < allocator->lane_count; i++) {
		const struct bits *used = &allocator->used[i];

		if (allocator_is_there(allocator, i))
			segments += used->count - bits_sum(used, 0, used->count);
	}
	return columns ? segments / columns : 0;
}

uint64_t allocator_free(const struct allocator *allocator)
{
	uint64_t bytes = allocator_free_segments(allocator) * allocator->segment;

	for (uint32_t i = 0; i < allocator->lane_count; i++)
		bytes += space_free(&allocator->lanes[i].space);
	return bytes;
}

int allocator_full(const struct allocator *allocator, const char *what, struct error *err)
{
	char available[SIZE_TEXT_SIZE], total[SIZE_TEXT_SIZE], size[SIZE_TEXT_SIZE], wanted[64] = "", grown[128] = "";

	if (allocator->wanted)
		snprintf(wanted, sizeof(wanted), ", the source takes up to %s", format_size(allocator->wanted, size));
	if (allocator->grown)
		snprintf(grown, sizeof(grown), "; 'datasetfsctl member grow' takes the %s that the device has gained",
			 format_size(allocator->grown, size));
	return error_set(err, -ENOSPC, "volume is full: no room for %s, %s of %s are free%s%s", what,
			 format_size(allocator_free(allocator), available), format_size(allocator->total, total),
			 wanted, grown);
}

int allocator_full_piece(const struct allocator *allocator, uint64_t length, struct error *err)
{
	char what[SIZE_TEXT_SIZE + 64], size[SIZE_TEXT_SIZE];

	snprintf(what, sizeof(what), "the next %s, which must lie in one piece", format_size(length, size));
	return allocator_full(allocator, what, err);
}

uint64_t allocator_taken(const struct allocator *allocator)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < allocator->lane_count; i++)
		bytes += space_taken(&allocator->lanes[i].space);
	return bytes;
}

uint64_t allocator_end(const struct allocator *allocator, uint32_t member)
{
	return space_end(&allocator->lanes[member].space);
}

void allocator_forget_gaps(struct allocator *allocator, uint32_t lane)
{
	space_forget_gaps(&allocator->lanes[lane].space);
}

int allocator_segments(const struct allocator *allocator, struct extent_list *list, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < allocator->lane_count; i++)
		r = space_segments(&allocator->lanes[i].space, list, err);
	return r;
}

static void allocator_settle_sizes(struct members *members, const struct member_group *group)
{
	for (uint32_t i = 0; i <= group->redundant; i++) {
		uint64_t column = members->columns[group->first_column + i];
		struct member *member = &members->list[address_member(column)];

		if (member->size < address_offset(column) + group->tail)
			member->size = address_offset(column) + group->tail;
	}
}

static void allocator_settle_lane(const struct allocator *allocator, const struct lane *lane)
{
	for (uint32_t i = 0; i < lane->space.count; i++) {
		struct member_group *group = &allocator->members->groups[lane->groups[i]];
		uint64_t start = address_offset(allocator->members->columns[group->first_column]);

		group->tail = (uint32_t)(round_up(lane->space.runs[i].at, DSFS_BLOCK) - start);
		allocator_settle_sizes(allocator->members, group);
	}
}

void allocator_settle(struct allocator *allocator)
{
	for (uint32_t i = 0; allocator->members && i < allocator->lane_count; i++)
		allocator_settle_lane(allocator, &allocator->lanes[i]);
}
