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
	return item_order(x->sum, y->sum);
}

int item_compare(const struct item *a, const struct item *b)
{
	int r = item_compare_bytes(a, b);

	return r ? r : item_order(a->row, b->row);
}

int item_compare_uses(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int r = item_compare(x, y);

	if (r == 0)
		r = item_order(x->ordinal, y->ordinal);
	return r ? r : item_order(x->position, y->position);
}
