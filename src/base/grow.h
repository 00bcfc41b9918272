/* SPDX-License-Identifier: MIT */
/* Arrays that grow at their end. items is the owner's pointer, which moves; without memory (-ENOMEM) nothing changes. */
#pragma once
#include <stddef.h>

#include "base/error.h"

/* Makes room for this many items. room, a size_t of the owner's, at least doubles, so that appending costs no more
 * than a copy of each. */
#define grow(items, room, needed, err) grow_room(&(items), &(room), (needed), sizeof(*(items)), (err))
/* Makes room for one item behind count, in an array that stays so short that it keeps no room. */
#define grow_one(items, count, err) grow_to(&(items), (size_t)(count) + 1, sizeof(*(items)), (err))

must_check int grow_room(void *items, size_t *room, size_t needed, size_t size, struct error *err);
must_check int grow_to(void *items, size_t count, size_t size, struct error *err);
