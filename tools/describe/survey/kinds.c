/* SPDX-License-Identifier: MIT */
/* Counts files by their kinds, in a sorted table of limited size. */
#include "describe/survey/kinds.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Returns the kind of a name: "a.JPG" is of kind "jpg"; ".profile" and "a." have no kind. */
static struct kind kinds_of(const char *name, size_t length)
{
	struct kind kind = { 0 };
	const char *dot = memrchr(name, '.', length);
	size_t bytes = dot ? length - (size_t)(dot + 1 - name) : 0;

	if (dot == name || bytes > KINDS_NAME_MAX)
		return kind;
	kind.length = (uint8_t)bytes;
	for (size_t i = 0; i < bytes; i++)
		kind.name[i] = (char)(dot[1 + i] >= 'A' && dot[1 + i] <= 'Z' ? dot[1 + i] | 0x20 : dot[1 + i]);
	return kind;
}

static int kinds_compare_names(const struct kind *a, const struct kind *b)
{
	int r = memcmp(a->name, b->name, KINDS_NAME_MAX);

	return r ? r : (a->length > b->length) - (a->length < b->length);
}

/* Returns the index of the kind in the table, or the index where it would go. */
static size_t kinds_place(const struct kinds *kinds, const struct kind *kind)
{
	size_t low = 0, high = kinds->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (kinds_compare_names(&kinds->list[middle], kind) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct kind *kinds_find(struct kinds *kinds, const struct kind *kind)
{
	size_t at = kinds_place(kinds, kind);

	if (at < kinds->count && kinds_compare_names(&kinds->list[at], kind) == 0)
		return &kinds->list[at];
	if (kinds->count == KINDS_MOST)
		return &kinds->rest;
	memmove(&kinds->list[at + 1], &kinds->list[at], (kinds->count++ - at) * sizeof(*kind));
	kinds->list[at] = *kind;
	return &kinds->list[at];
}

void kinds_add(struct kinds *kinds, const char *name, size_t length, uint64_t size)
{
	struct kind kind = kinds_of(name, length), *found = kinds_find(kinds, &kind);

	found->files++;
	found->bytes += size;
}

static int kinds_compare(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;

	if (x->files != y->files)
		return x->files > y->files ? -1 : 1;
	return kinds_compare_names(x, y);
}

void kinds_sort(struct kinds *kinds)
{
	qsort(kinds->list, kinds->count, sizeof(*kinds->list), kinds_compare);
}
