/* SPDX-License-Identifier: MIT */
#include "base/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GROW_FIRST 16 /* items */

int grow_to(void *items, size_t count, size_t size, struct error *err)
{
	void *old, *moved;
	size_t bytes;

	memcpy(&old, items, sizeof(old)); /* memcpy, because items points to a pointer of any type */
	moved = __builtin_mul_overflow(count, size, &bytes) ? NULL : realloc(old, bytes);
	if (!moved)
		return error_no_memory(err);
	memcpy(items, &moved, sizeof(moved));
	return 0;
}

int grow_room(void *items, size_t *room, size_t needed, size_t size, struct error *err)
{
	size_t more = *room < GROW_FIRST ? GROW_FIRST : *room > SIZE_MAX / 2 ? SIZE_MAX : 2 * *room;
	int r;

	if (needed <= *room)
		return 0;
	if (more < needed)
		more = needed;
	r = grow_to(items, more, size, err);
	if (r == 0)
		*room = more;
	return r;
}
