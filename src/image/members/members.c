/* SPDX-License-Identifier: MIT */
/* Finds columns by binary search: they are a few thousand, in memory that stays in the CPU's cache. */
#include "image/members/members.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/round.h"
#include "image/members/address.h"

void members_free(struct members *members)
{
	free(members->list);
	free(members->groups);
	free(members->columns);
	free(members->places);
	*members = (struct members){ 0 };
}

static void *members_copy_array(const void *from, uint32_t count, size_t size)
{
	void *to = calloc(count ? count : 1, size);

	if (to && count)
		memcpy(to, from, count * size);
	return to;
}

int members_copy(const struct members *from, struct members *ret, struct error *err)
{
	struct members to = *from;

	to.list = members_copy_array(from->list, from->count, sizeof(*to.list));
	to.groups = members_copy_array(from->groups, from->group_count, sizeof(*to.groups));
	to.columns = members_copy_array(from->columns, from->column_count, sizeof(*to.columns));
	to.places = members_copy_array(from->places, from->column_count, sizeof(*to.places));
	if (!to.list || !to.groups || !to.columns || !to.places) {
		members_free(&to);
		return error_no_memory(err);
	}
	*ret = to;
	return 0;
}

/* --- look-ups --- */

uint64_t members_size(const struct members *members, uint32_t member)
{
	return member < members->count ? members->list[member].size : 0;
}

/* Returns the number of columns at or before this address. */
static uint32_t members_places_to(const struct members *members, uint64_t address)
{
	uint32_t low = 0, high = members->column_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (members->places[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct member_column *members_place(const struct members *members, uint64_t address)
{
	uint32_t n = members_places_to(members, address);

	return n && address - members->places[n - 1].address < UINT64_C(1) << members->segment_log ?
		       &members->places[n - 1] :
		       NULL;
}

struct member_group *members_group(const struct members *members, uint64_t address)
{
	const struct member_column *place = members_place(members, address);

	return place ? &members->groups[place->group] : NULL;
}

bool members_in_column(const struct members *members, uint64_t address, uint64_t length)
{
	const struct member_column *place = members_place(members, address);
	const struct member_group *group = place ? &members->groups[place->group] : NULL;
	uint64_t at = place ? address - place->address : 0;

	return group && place->number < group->data && at <= group->tail && length <= group->tail - at;
}

uint32_t *members_runs(const struct members *members)
{
	uint32_t *runs = calloc((size_t)members->column_count + 1, sizeof(*runs));

	for (uint32_t i = members->column_count; runs && i--;) {
		const struct member_column *place = &members->places[i];
		bool goes_on = i + 1 < members->column_count &&
			       place[1].address - place->address == UINT64_C(1) << members->segment_log;

		if (place->number < members->groups[place->group].data)
			runs[i] = 1 + (goes_on ? runs[i + 1] : 0);
	}
	return runs;
}

bool members_in_columns(const struct members *members, const uint32_t *runs, uint64_t address, uint64_t length)
{
	const struct member_column *place = members_place(members, address);

	return place && place->address == address && length <= (uint64_t)runs[place - members->places]
									  << members->segment_log;
}

/* True if the bytes of a column are on its member. */
static bool members_has_column(const struct members *members, const struct member_group *group, uint32_t column)
{
	const struct member *member = &members->list[address_member(members->columns[group->first_column + column])];

	uint64_t missing_from = __atomic_load_n(&member->missing_from, __ATOMIC_ACQUIRE);

	return !missing_from || group->birth < missing_from;
}

uint64_t members_missing_from(const struct members *members, uint32_t member)
{
	return member < members->count ? __atomic_load_n(&members->list[member].missing_from, __ATOMIC_ACQUIRE) : 0;
}

void members_note(struct members *members, uint32_t member, uint64_t missing_from)
{
	if (member < members->count)
		__atomic_store_n(&members->list[member].missing_from, missing_from, __ATOMIC_RELEASE);
}

bool members_are_redundant(const struct members *members)
{
	for (uint32_t i = 0; i < members->group_count; i++)
		if (members->groups[i].redundant)
			return true;
	return false;
}

uint32_t members_copies(const struct members *members, uint64_t address, uint64_t ret[DSFS_COPIES_MAX])
{
	const struct member_column *place = members_place(members, address);
	const struct member_group *group = place ? &members->groups[place->group] : NULL;
	uint32_t count = 0;

	ret[0] = address;
	if (!group || group->kind != DSFS_GROUP_COPIES || place->number)
		return 1;
	for (uint32_t i = 0; i <= group->redundant; i++)
		if (members_has_column(members, group, i))
			ret[count++] = members->columns[group->first_column + i] + (address - place->address);
	return count ? count : 1;
}

bool members_tolerate(const struct members *members)
{
	for (uint32_t g = 0; g < members->group_count; g++) {
		const struct member_group *group = &members->groups[g];
		uint32_t count = (uint32_t)group->data + group->redundant, there = 0;

		for (uint32_t i = 0; i < count; i++)
			there += members_has_column(members, group, i);
		if (there < group->data)
			return false;
	}
	return true;
}

uint32_t members_spare(const struct members *members)
{
	uint32_t spare = members->group_count ? UINT32_MAX : 0;

	for (uint32_t g = 0; g < members->group_count; g++)
		if (members->groups[g].redundant < spare)
			spare = members->groups[g].redundant;
	return spare;
}

/* A catalogue may not lie in a group: catalogues are written to be thrown away, groups stay. */
int members_check_superblock(const struct members *members, const struct superblock *super, struct error *err)
{
	uint64_t segment = UINT64_C(1) << members->segment_log, at = round_down(super->catalogue_address, segment);
	const struct member *member = &members->list[super->member];

	if (member->size != super->member_size || memcmp(member->uuid, super->member_uuid, sizeof(member->uuid)) != 0)
		return error_set(err, -EBADMSG,
				 "members: member %" PRIu32 " has another UUID or size in its superblock",
				 super->member);
	for (; at < super->catalogue_address + super->catalogue_length; at += segment)
		if (members_group(members, at))
			return error_set(err, -EBADMSG, "members: the column at %#" PRIx64 " holds a catalogue", at);
	return 0;
}

/* --- changes --- */

static int members_reserve(struct members *members, uint32_t group_count, uint32_t column_count, struct error *err)
{
	struct member_group *groups = realloc(members->groups, group_count * sizeof(*groups));
	uint64_t *columns = realloc(members->columns, column_count * sizeof(*columns));
	struct member_column *places = realloc(members->places, column_count * sizeof(*places));

	if (groups)
		members->groups = groups;
	if (columns)
		members->columns = columns;
	if (places)
		members->places = places;
	return groups && columns && places ? 0 : error_no_memory(err);
}

static void members_insert_place(struct members *members, struct member_column column)
{
	uint32_t at = members_places_to(members, column.address);
	struct member_column *places = members->places;

	memmove(&places[at + 1], &places[at], (members->column_count - at) * sizeof(*places));
	places[at] = column;
	members->columns[members->column_count++] = column.address;
}

int members_add_group(struct members *members, const struct member_group *group, const uint64_t *columns,
		      struct error *err)
{
	uint32_t more = (uint32_t)group->data + group->redundant, number = members->group_count;
	int r = members_reserve(members, number + 1, members->column_count + more, err);

	if (r < 0)
		return r;
	members->groups[number] = *group;
	members->groups[number].first_column = members->column_count;
	members->group_count++;
	for (uint32_t i = 0; i < more; i++)
		members_insert_place(members, (struct member_column){ columns[i], number, i });
	return 0;
}

static int members_compare(const void *a, const void *b)
{
	const struct member_column *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

bool members_sort(struct members *members, uint64_t *ret)
{
	struct member_column *places = members->places;

	qsort(places, members->column_count, sizeof(*places), members_compare);
	for (uint32_t i = 1; i < members->column_count; i++)
		if (places[i].address == places[i - 1].address) {
			*ret = places[i].address;
			return false;
		}
	return true;
}

void members_remember(struct members *members, const struct superblock *super)
{
	struct member_epoch *history = members->history;

	if (members->history_count < DSFS_HISTORY_MAX)
		members->history_count++;
	memmove(history + 1, history, (members->history_count - 1) * sizeof(*history));
	history[0].sequence = super->sequence;
	memcpy(history[0].sha256, super->catalogue_sha256, sizeof(history[0].sha256));
}

uint32_t members_age(const struct members *members, uint64_t sequence, const uint8_t *sha256)
{
	for (uint32_t i = 0; i < members->history_count; i++) {
		const struct member_epoch *epoch = &members->history[i];

		if (epoch->sequence == sequence)
			return memcmp(epoch->sha256, sha256, sizeof(epoch->sha256)) ? 0 : i + 1;
	}
	return 0;
}


void members_keep_groups(struct members *members, const bool *is_kept)
{
	uint32_t groups = 0, columns = 0;

	for (uint32_t g = 0; g < members->group_count; g++) {
		struct member_group group = members->groups[g];
		uint32_t more = (uint32_t)group.data + group.redundant;

		if (!is_kept[g])
			continue;
		memmove(&members->columns[columns], &members->columns[group.first_column],
			more * sizeof(*members->columns));
		for (uint32_t i = 0; i < more; i++)
			members->places[columns + i] =
				(struct member_column){ members->columns[columns + i], groups, i };
		group.first_column = columns;
		members->groups[groups++] = group;
		columns += more;
	}
	members->group_count = groups;
	members->column_count = columns;
	qsort(members->places, columns, sizeof(*members->places), members_compare);
}
