/* SPDX-License-Identifier: MIT */
/* Orders chunks for checking. */
#include "verify/item.h"

static int item_order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

int item_compare_bytes(const struct item *a, const struct item *b)
{
	const struct chunk *x = &a->chunk, *y = &b->chunk;

	if (x->address != y->address)
		return item_order(x->address, y->address);
	if (x->stored != y->stored)
		return item_order(x->stored, y->stored);
	if (x->length != y->length)
		return item_order(x->length, y->length);
	if (x->codec != y->codec)
		return item_order(x->codec, y->codec);
	return sum_compare(&x->sum, &y->sum);
}

int item_compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int r = item_compare_bytes(x, y);

	return r ? r : item_order(x->row, y->row);
}

void item_merge(void *kept, const void *other)
{
	struct item *x = kept;
	const struct item *y = other;
	uint64_t shared = x->shared + y->shared;

	if (y->ordinal < x->ordinal || (y->ordinal == x->ordinal && y->position < x->position))
		*x = *y;
	x->shared = shared;
}
