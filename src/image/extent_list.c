/* SPDX-License-Identifier: MIT */
/* A list of extents that grows at its end. */
#include "image/extent_list.h"

#include <errno.h>
#include <stdlib.h>

int extent_list_add(struct extent_list *list, uint64_t address, uint64_t length, struct error *err)
{
	struct extent *last = list->count ? &list->items[list->count - 1] : NULL;
	struct extent *items;

	if (last && address == last->address + last->length) {
		last->length += length;
		return 0;
	}
	if ((list->count & (list->count - 1)) == 0) { /* room for twice as many at every power of two */
		items = realloc(list->items, (list->count ? 2 * (size_t)list->count : 1) * sizeof(*items));
		if (!items)
			return error_set(err, -ENOMEM, "out of memory");
		list->items = items;
	}
	list->items[list->count++] = (struct extent){ address, length };
	return 0;
}
