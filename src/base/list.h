/* SPDX-License-Identifier: MIT */
/* Intrusive lists of items of any type: link is the item's field that points to the next item. first is the caller's
 * pointer to the first item, NULL if there is none. */
#pragma once
#include <stddef.h>
#include <string.h>

/* Puts an item first. Free objects are kept like this, as a stack: the one used last, still in the CPU's cache, is
 * taken first. */
#define list_push(first, item, link) ((item)->link = (first), (first) = (item))
/* Takes the first item. NULL: there is none. */
#define list_pop(first, link) ((__typeof__(first))list_pop_at(&(first), offsetof(__typeof__(*(first)), link)))

/* Puts an item last, in a queue. end points to the link of the last item; in an empty queue, to first. */
#define list_append(end, item, link) ((item)->link = NULL, *(end) = (item), (end) = &(item)->link)
/* Takes the first item of a queue. NULL: there is none. */
#define list_take(first, end, link) \
	((__typeof__(first))list_take_at(&(first), &(end), offsetof(__typeof__(*(first)), link)))

/* Uses memcpy() because first points to a pointer of any type. */
static inline void *list_pop_at(void *first, size_t link)
{
	void *item;

	memcpy(&item, first, sizeof(item));
	if (item)
		memcpy(first, (char *)item + link, sizeof(item));
	return item;
}

static inline void *list_take_at(void *first, void *end, size_t link)
{
	void *item = list_pop_at(first, link), *left;

	memcpy(&left, first, sizeof(left));
	if (!left)
		memcpy(end, &first, sizeof(first));
	return item;
}
