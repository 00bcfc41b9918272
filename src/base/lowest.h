/* SPDX-License-Identifier: MIT */
/* Sorts more items than fit in memory, in several passes over their source: a pass keeps the lowest of the items that
 * are added to it, and the caller adds the items after these to the next pass. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define LOWEST_PASSES 8u                  /* the most passes, if lowest_share() is given the number of items */
#define LOWEST_LEAST  ((size_t)512 << 10) /* the least that lowest_share() returns */

struct lowest_kind {
	size_t size; /* bytes of an item */
	/* The order, as for qsort(3). Of items that compare as equal one is kept. */
	int (*compare)(const void *a, const void *b);
	/* Merges other into kept, which compares as equal. Equal items may be passed in any order. */
	void (*merge)(void *kept, const void *other);
};

/* Zeroed before use, except kind. */
struct lowest {
	const struct lowest_kind *kind;
	size_t most;  /* items that a pass keeps; while they are added, there is memory for twice as many */
	void *items;  /* ascending, after lowest_sort() */
	size_t count;
	bool is_cut;  /* items after the last one were left out */
};

/* Returns how many of this many items a pass should keep: a fixed share, so that more items do not take more passes. */
static inline size_t lowest_share(uint64_t items)
{
	uint64_t share = items / LOWEST_PASSES + 1;

	return share > LOWEST_LEAST ? share : LOWEST_LEAST;
}

/* Gets memory for passes of most items each. */
must_check int lowest_reserve(struct lowest *lowest, size_t most, struct error *err);
void lowest_free(struct lowest *lowest); /* its memory, not the struct */
/* Begins a pass, without any item. */
void lowest_begin(struct lowest *lowest);
void lowest_add(struct lowest *lowest, const void *item);
/* Ends a pass: sorts and merges the items that were added, and keeps the lowest `most` of them. */
void lowest_sort(struct lowest *lowest);
