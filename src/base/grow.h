/* SPDX-License-Identifier: MIT */
/* Arrays that grow at their end. items is the caller's pointer to the array, which may move. On -ENOMEM nothing
 * changes. */
#pragma once
#include <stddef.h>

#include "base/error.h"

/* Makes room for needed items. At least doubles room, the caller's size_t, so that appending copies each item a
 * constant number of times on average. */
#define grow(items, room, needed, err) grow_room(&(items), &(room), (needed), sizeof(*(items)), (err))
/* Makes room for one more item, in an array that is too short to keep spare room. */
#define grow_one(items, count, err) grow_to(&(items), (size_t)(count) + 1, sizeof(*(items)), (err))

must_check int grow_room(void *items, size_t *room, size_t needed, size_t size, struct error *err);
must_check int grow_to(void *items, size_t count, size_t size, struct error *err);
