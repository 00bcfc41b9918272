/* SPDX-License-Identifier: MIT */
/* Sorts more items than fit in memory, in several passes over where they come from: a pass keeps the lowest of the
 * items that it is given, and the next pass is given those after them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define LOWEST_PASSES 8u                  /* most passes over as many items as lowest_share() was told */
#define LOWEST_LEAST  ((size_t)512 << 10) /* items of a pass, of which a few need no share */

struct lowest_kind {
	size_t size; /* bytes of an item */
	/* The order, as for qsort(3). Of items that compare as equal one is kept. */
	int (*compare)(const void *a, const void *b);
	/* Makes kept stand for both. The order in which equal items come is not kept. */
	void (*merge)(void *kept, const void *other);
};

/* Begins zeroed but for kind. */
struct lowest {
	const struct lowest_kind *kind;
	size_t most;  /* items that a pass keeps; while they are added, there is memory for twice as many */
	void *items;  /* ascending, after lowest_sort() */
	size_t count;
	bool is_cut;  /* items after the last one were left out */
};

/* Returns how many items a pass keeps of so many: a share, so that more items do not take more passes. */
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
/* Sorts and merges what was added, and leaves out what is too much. Ends a pass. */
void lowest_sort(struct lowest *lowest);
