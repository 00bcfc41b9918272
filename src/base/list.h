/* SPDX-License-Identifier: MIT */
/* Lists of items of any type that have their link in them: link is the field that points to the next one. first is the
 * caller's pointer to the first item, NULL if there is none. */
#pragma once
#include <stddef.h>
#include <string.h>

/* A stack, for objects that are free to use: the one that was put back last, whose memory is warm, is taken first. */
#define list_push(first, item, link) ((item)->link = (first), (first) = (item))
/* Takes the first item. NULL: there is none. */
#define list_pop(first, link) ((__typeof__(first))list_pop_at(&(first), offsetof(__typeof__(*(first)), link)))

/* A queue: end points to the link of its last item, or to first, which is how it begins. */
#define list_append(end, item, link) ((item)->link = NULL, *(end) = (item), (end) = &(item)->link)
/* Takes the first item of a queue. NULL: there is none. */
#define list_take(first, end, link) \
	((__typeof__(first))list_take_at(&(first), &(end), offsetof(__typeof__(*(first)), link)))

/* memcpy, because first points to a pointer of any type. */
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
