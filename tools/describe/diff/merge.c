/* SPDX-License-Identifier: MIT */
/* Merges two walks in the order of their paths. */
#include "describe/diff/merge.h"

#include <stdbool.h>

#include "base/cleanup.h"

/* One of the two versions, and the position of its walk. */
struct merge_side {
	struct walk *walk;
	struct walk_entry entry;
	bool is_there; /* false: the walk is at its end and there is no entry */
};

static int merge_step(struct merge_side *side, struct error *err)
{
	int r = walk_next(side->walk, &side->entry, err);

	side->is_there = r > 0;
	return r < 0 ? r : 0;
}

/* Ranks a character so that paths sort as in a walk: the contents of a directory come before siblings whose names begin
 * with its name. */
static int merge_rank(char c)
{
	return c == '/' ? 0 : (unsigned char)c;
}

static int merge_compare(const struct walk_entry *a, const struct walk_entry *b)
{
	size_t least = a->length < b->length ? a->length : b->length, i = 0;

	while (i < least && a->path[i] == b->path[i])
		i++;
	if (i == least)
		return (a->length > b->length) - (a->length < b->length);
	return merge_rank(a->path[i]) - merge_rank(b->path[i]);
}

static int merge_sides(struct merge_side *a, struct merge_side *b,
		       int (*each)(void *argument, const struct walk_entry *a, const struct walk_entry *b,
				   struct error *err),
		       void *argument, struct error *err)
{
	int r = merge_step(a, err);

	if (r == 0)
		r = merge_step(b, err);
	while (r == 0 && (a->is_there || b->is_there)) {
		int order = !a->is_there ? 1 : !b->is_there ? -1 : merge_compare(&a->entry, &b->entry);

		r = each(argument, order <= 0 ? &a->entry : NULL, order >= 0 ? &b->entry : NULL, err);
		if (r == 0 && order <= 0)
			r = merge_step(a, err);
		if (r == 0 && order >= 0)
			r = merge_step(b, err);
	}
	return r;
}

int merge_run(const struct index *a, const struct index *b, const char *below,
	      int (*each)(void *argument, const struct walk_entry *a, const struct walk_entry *b, struct error *err),
	      void *argument, struct error *err)
{
	auto_walk struct walk *first = NULL, *second = NULL;
	struct merge_side x = { 0 }, y = { 0 };
	int r = walk_open(a, below, &first, err);

	if (r == 0)
		r = walk_open(b, below, &second, err);
	if (r < 0)
		return r;
	x.walk = first;
	y.walk = second;
	return merge_sides(&x, &y, each, argument, err);
}
