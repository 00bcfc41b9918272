/* SPDX-License-Identifier: MIT */
/* A list of extents that grows at its end. */
#include "image/members/extent_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "image/members/address.h"
#include "image/members/members.h"

void extent_list_free(struct extent_list *list)
{
	free(list->items);
	*list = (struct extent_list){ 0 };
}

int extent_list_copy(const struct extent_list *from, struct extent_list *ret, struct error *err)
{
	size_t size = from->count * sizeof(*from->items);

	*ret = (struct extent_list){ malloc(size ? size : 1), from->count };
	if (!ret->items)
		return error_no_memory(err);
	if (size)
		memcpy(ret->items, from->items, size);
	return 0;
}

static int extent_list_append(struct extent_list *list, uint64_t address, uint64_t length, struct error *err)
{
	struct extent *items;

	if ((list->count & (list->count - 1)) == 0) { /* at every power of two, makes room for twice as many */
		items = realloc(list->items, (list->count ? 2 * (size_t)list->count : 1) * sizeof(*items));
		if (!items)
			return error_no_memory(err);
		list->items = items;
	}
	list->items[list->count++] = (struct extent){ address, length };
	return 0;
}

static struct extent *extent_list_before(const struct extent_list *list, uint64_t address)
{
	struct extent *last = list->count ? &list->items[list->count - 1] : NULL;

	return last && address == last->address + last->length ? last : NULL;
}

int extent_list_add(struct extent_list *list, uint64_t address, uint64_t length, struct error *err)
{
	struct extent *last = extent_list_before(list, address);

	if (!last)
		return extent_list_append(list, address, length, err);
	last->length += length;
	return 0;
}

int extent_list_add_in(struct extent_list *list, uint64_t address, uint64_t length, uint64_t segment,
		       struct error *err)
{
	return address % segment ? extent_list_add(list, address, length, err) :
				   extent_list_append(list, address, length, err);
}

struct extent extent_list_at(const struct extent_list *list, uint64_t at, uint64_t length)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const struct extent *extent = &list->items[i];

		if (at < extent->length)
			return (struct extent){ extent->address + at,
						extent->length - at < length ? extent->length - at : length };
		at -= extent->length;
	}
	return (struct extent){ 0 };
}

bool extent_list_next(const struct extent_list *list, uint64_t length, uint64_t most, struct extent_list_walk *walk)
{
	const struct extent *extent = &list->items[walk->number];
	uint64_t at = walk->at + walk->step.length;

	if (at >= length || walk->number == list->count)
		return false;
	if (most > length - at)
		most = length - at;
	if (most > extent->length - walk->in)
		most = extent->length - walk->in;
	walk->step = (struct extent){ extent->address + walk->in, most };
	walk->at = at;
	walk->in += most;
	if (walk->in == extent->length) {
		walk->number++;
		walk->in = 0;
	}
	return true;
}

int extent_list_read(const struct extent_list *list, struct backing backing, uint64_t at, void *buffer,
		     uint64_t length, struct error *err)
{
	uint8_t *to = buffer;
	int r;

	for (struct extent run; length; at += run.length, to += run.length, length -= run.length) {
		run = extent_list_at(list, at, length);
		if (!run.length)
			return error_set(err, -ENODATA, "a section ends at %" PRIu64 ", %" PRIu64 " bytes too early",
					 at, length);
		r = backing_read(backing, run.address, 0, to, run.length, err);
		if (r < 0)
			return r;
	}
	return 0;
}
