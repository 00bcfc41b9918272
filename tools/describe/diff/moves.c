/* SPDX-License-Identifier: MIT */
/* Sorts both sides by content and pairs equal files. */
#include "describe/diff/moves.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

static void moves_close_side(struct moves_side *side)
{
	free(side->files);
	free(side->moved);
}

void moves_close(struct moves *moves)
{
	moves_close_side(&moves->from);
	moves_close_side(&moves->to);
	*moves = (struct moves){ 0 };
}

int moves_add(struct moves_side *side, uint64_t key, struct error *err)
{
	int r = grow(side->files, side->room, side->count + 1, err);

	if (r < 0)
		return r;
	side->files[side->count] = (struct moves_file){ key, side->count };
	side->count++;
	return 0;
}

static int moves_compare(const void *a, const void *b)
{
	const struct moves_file *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Calls each() for every pair, in one pass over both sorted lists. */
static void moves_each(const struct moves *moves, void (*each)(void *argument, const struct moves_pair *pair),
		       void *argument)
{
	size_t i = 0, j = 0;

	while (i < moves->from.count && j < moves->to.count) {
		const struct moves_file *x = &moves->from.files[i], *y = &moves->to.files[j];

		if (x->key == y->key)
			each(argument, &(struct moves_pair){ x->number, y->number });
		i += x->key <= y->key;
		j += x->key >= y->key;
	}
}

static void moves_mark(void *argument, const struct moves_pair *pair)
{
	struct moves *moves = argument;

	moves->from.moved[pair->from / 8] |= (uint8_t)(1u << pair->from % 8);
	moves->to.moved[pair->to / 8] |= (uint8_t)(1u << pair->to % 8);
}

static int moves_prepare(struct moves_side *side, struct error *err)
{
	side->moved = calloc(side->count / 8 + 1, 1);
	if (!side->moved)
		return error_no_memory(err);
	if (side->count)
		qsort(side->files, side->count, sizeof(*side->files), moves_compare);
	return 0;
}

int moves_match(struct moves *moves, struct error *err)
{
	int r = moves_prepare(&moves->from, err);

	if (r == 0)
		r = moves_prepare(&moves->to, err);
	if (r == 0)
		moves_each(moves, moves_mark, moves);
	return r;
}

bool moves_is_moved(const struct moves_side *side, uint64_t number)
{
	return side->moved[number / 8] >> number % 8 & 1;
}

/* The pairs that are listed, sorted by from. */
struct moves_list {
	struct moves_pair *pairs;
	size_t count;
};

static int moves_compare_from(const void *a, const void *b)
{
	const struct moves_pair *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

static void moves_fill(void *argument, const struct moves_pair *pair)
{
	struct moves_list *list = argument;
	struct moves_pair *found =
		bsearch(pair, list->pairs, list->count, sizeof(*list->pairs), moves_compare_from);

	if (found)
		found->to = pair->to;
}

size_t moves_first(const struct moves *moves, struct moves_pair *pairs, size_t most)
{
	struct moves_list list = { .pairs = pairs };

	for (uint64_t i = 0; i < moves->from.count && list.count < most; i++)
		if (moves_is_moved(&moves->from, i))
			pairs[list.count++] = (struct moves_pair){ i, 0 };
	if (list.count)
		moves_each(moves, moves_fill, &list);
	return list.count;
}
