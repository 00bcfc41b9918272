/* SPDX-License-Identifier: MIT */
/* Sorts whenever memory is full. The highest item that is left is then a limit: items after it are not added. */
#include "base/lowest.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

int lowest_reserve(struct lowest *lowest, size_t most, struct error *err)
{
	int r = grow_to(&lowest->items, 2 * most, lowest->kind->size, err);

	if (r == 0)
		lowest->most = most;
	return r;
}

void lowest_free(struct lowest *lowest)
{
	free(lowest->items);
}

void lowest_begin(struct lowest *lowest)
{
	lowest->count = 0;
	lowest->is_cut = false;
}

static void *lowest_at(const struct lowest *lowest, size_t i)
{
	return (uint8_t *)lowest->items + i * lowest->kind->size;
}

void lowest_sort(struct lowest *lowest)
{
	const struct lowest_kind *kind = lowest->kind;
	size_t kept = 0;

	qsort(lowest->items, lowest->count, kind->size, kind->compare);
	for (size_t i = 0; i < lowest->count; i++) {
		if (kept && kind->compare(lowest_at(lowest, kept - 1), lowest_at(lowest, i)) == 0)
			kind->merge(lowest_at(lowest, kept - 1), lowest_at(lowest, i));
		else if (kept++ < i)
			memcpy(lowest_at(lowest, kept - 1), lowest_at(lowest, i), kind->size);
	}
	lowest->is_cut = lowest->is_cut || kept > lowest->most;
	lowest->count = kept < lowest->most ? kept : lowest->most;
}

/* The limit keeps its place until the next sort, because items are added behind it. An item that is equal to it counts:
 * it may have to be merged. */
static bool lowest_is_left_out(const struct lowest *lowest, const void *item)
{
	return lowest->is_cut && lowest->kind->compare(item, lowest_at(lowest, lowest->most - 1)) > 0;
}

void lowest_add(struct lowest *lowest, const void *item)
{
	if (lowest_is_left_out(lowest, item))
		return;
	if (lowest->count == 2 * lowest->most) {
		lowest_sort(lowest);
		if (lowest_is_left_out(lowest, item))
			return;
	}
	memcpy(lowest_at(lowest, lowest->count++), item, lowest->kind->size);
}
