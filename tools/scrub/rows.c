/* SPDX-License-Identifier: MIT */
/* Collects ranges and numbers windows through all of them, so the numbers depend only on the catalogue. */
#include "scrub/rows.h"

#include <errno.h>
#include <stdlib.h>

#include "image/members/address.h"

static int rows_compare(const void *a, const void *b)
{
	const struct rows_range *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static void rows_add(struct rows *rows, uint64_t address, uint64_t length)
{
	if (length)
		rows->list[rows->count++] = (struct rows_range){ .address = address, .length = length };
}

static void rows_add_groups(struct rows *rows, const struct members *members)
{
	for (uint32_t g = 0; g < members->group_count; g++) {
		const struct member_group *group = &members->groups[g];

		for (uint32_t i = 0; i < group->data; i++)
			rows_add(rows, members->columns[group->first_column + i], group->tail);
		rows->protected_bytes += group->redundant ? (uint64_t)group->data * group->tail : 0;
	}
}

static void rows_add_segments(struct rows *rows, const struct version *version, uint64_t size)
{
	for (uint32_t i = 0; i < version->segments.count; i++) {
		uint64_t from = version->segments.items[i].address, end = from + version->segments.items[i].length;

		from = from < DSFS_DATA_AT ? DSFS_DATA_AT : from;
		end = end > size ? size : end;
		rows_add(rows, from, end > from ? end - from : 0);
	}
}

/* Merges ranges that overlap, because versions share segments. */
static void rows_merge(struct rows *rows)
{
	uint32_t kept = 0;

	qsort(rows->list, rows->count, sizeof(*rows->list), rows_compare);
	for (uint32_t i = 0; i < rows->count; i++) {
		struct rows_range *last = kept ? &rows->list[kept - 1] : NULL;
		const struct rows_range *range = &rows->list[i];
		uint64_t end = range->address + range->length;

		if (!last || range->address >= last->address + last->length)
			rows->list[kept++] = *range;
		else if (end > last->address + last->length)
			last->length = end - last->address;
	}
	rows->count = kept;
	for (uint32_t i = 0; i < kept; i++) {
		rows->list[i].first = rows->windows;
		rows->windows += (rows->list[i].length + ROWS_WINDOW - 1) / ROWS_WINDOW;
		rows->bytes += rows->list[i].length;
	}
}

int rows_open(const struct catalogue *catalogue, uint64_t size, struct rows *ret, struct error *err)
{
	struct rows rows = { 0 };
	uint64_t most = (uint64_t)catalogue->members.column_count + 1;

	for (uint32_t i = 0; i < catalogue->version_count; i++)
		most += catalogue->versions[i].segments.count;
	rows.list = calloc(most, sizeof(*rows.list));
	if (!rows.list)
		return error_no_memory(err);
	if (catalogue->members.count)
		rows_add_groups(&rows, &catalogue->members);
	for (uint32_t i = 0; !catalogue->members.count && i < catalogue->version_count; i++)
		rows_add_segments(&rows, &catalogue->versions[i], size);
	rows_merge(&rows);
	*ret = rows;
	return 0;
}

void rows_close(struct rows *rows)
{
	free(rows->list);
	*rows = (struct rows){ 0 };
}

struct rows_window rows_window(const struct rows *rows, uint64_t number)
{
	uint32_t low = 0, high = rows->count - 1; /* search the last range that begins at or before it */
	const struct rows_range *range;
	uint64_t at;

	while (low < high) {
		uint32_t middle = high - (high - low) / 2;

		if (rows->list[middle].first <= number)
			low = middle;
		else
			high = middle - 1;
	}
	range = &rows->list[low];
	at = (number - range->first) * ROWS_WINDOW;
	return (struct rows_window){ range->address + at,
				     range->length - at < ROWS_WINDOW ? range->length - at : ROWS_WINDOW };
}

static uint64_t rows_data_address(const struct members *members, uint64_t address)
{
	const struct member_group *group = members->count ? members_group(members, address) : NULL;
	uint64_t segment = UINT64_C(1) << members->segment_log;

	return group ? members->columns[group->first_column] + address_offset(address) % segment : address;
}

uint64_t rows_find(const struct rows *rows, const struct members *members, uint64_t address)
{
	uint64_t at = rows_data_address(members, address);

	for (uint32_t i = 0; i < rows->count; i++) {
		const struct rows_range *range = &rows->list[i];

		if (at >= range->address && at - range->address < range->length)
			return range->first + (at - range->address) / ROWS_WINDOW;
	}
	return rows->windows;
}
