/* SPDX-License-Identifier: MIT */
/* Looks at places of files, by the addresses of their first chunks. */
#include "serve/readahead/pick.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "image/members/address.h"
#include "read/op.h"

bool pick_is_wanted(const struct inode *inode)
{
	return S_ISREG(inode->mode) && inode->size && inode->size <= READ_MAX;
}

/* A file, and where it begins on the volume. */
struct pick_place {
	uint64_t address, ordinal;
};

static int pick_compare(const void *a, const void *b)
{
	const struct pick_place *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

struct run_place pick_where(const struct index *index, const struct inode *inode)
{
	return pick_is_wanted(inode) ? run_find(index, inode) : (struct run_place){ 0 };
}

static uint64_t pick_address_of(const struct index *index, uint64_t ordinal)
{
	struct inode inode;

	return inode_get(index, ordinal, &inode, NULL) < 0 ? 0 : pick_where(index, &inode).address;
}

void pick_sort(const struct index *index, uint64_t *ordinals, uint32_t count)
{
	struct pick_place places[PICK_FILES];

	assert(count <= PICK_FILES);
	for (uint32_t i = 0; i < count; i++)
		places[i] = (struct pick_place){ pick_address_of(index, ordinals[i]), ordinals[i] };
	qsort(places, count, sizeof(places[0]), pick_compare);
	for (uint32_t i = 0; i < count; i++)
		ordinals[i] = places[i].ordinal;
}

/* The span of a leg's files on one member. */
struct pick_span {
	uint64_t first, end; /* addresses of the first and of the last file; 0: the member has none */
};

static void pick_measure(const struct index *index, const uint64_t *ordinals, uint32_t count,
			 struct pick_span *spans)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t address = pick_address_of(index, ordinals[i]);
		struct pick_span *span = &spans[address_member(address)];

		if (!address)
			continue;
		if (!span->end || address < span->first)
			span->first = address;
		if (address > span->end)
			span->end = address;
	}
}

/* Whether a file lies within the span of its member and is small enough to fill the rest of a block. */
static bool pick_is_among(const struct index *index, uint64_t ordinal, const struct pick_span *spans)
{
	const struct pick_span *span;
	struct inode inode;
	uint64_t address;

	if (inode_get(index, ordinal, &inode, NULL) < 0 || inode.size >= DSFS_BLOCK)
		return false;
	address = pick_where(index, &inode).address;
	span = &spans[address_member(address)];
	return address > span->first && address < span->end;
}

uint32_t pick_among(const struct index *index, uint64_t *ordinals, uint32_t count, uint64_t from, uint64_t end,
		    struct pick_taken *taken)
{
	struct pick_span spans[DSFS_MEMBER_MAX + 1] = { 0 };

	pick_measure(index, ordinals, count, spans);
	end = end - from < PICK_NEAR ? end : from + PICK_NEAR;
	for (uint64_t ordinal = from; ordinal < end && count < PICK_FILES; ordinal++) {
		uint64_t bit = ordinal % PICK_NEAR, *word = &taken->bits[bit / 64];

		if (*word >> bit % 64 & 1 || !pick_is_among(index, ordinal, spans))
			continue;
		*word |= UINT64_C(1) << bit % 64;
		ordinals[count++] = ordinal;
	}
	return count;
}

bool pick_was_taken(struct pick_taken *taken, uint64_t ordinal)
{
	uint64_t bit = ordinal % PICK_NEAR, *word = &taken->bits[bit / 64];
	bool was = *word >> bit % 64 & 1;

	*word &= ~(UINT64_C(1) << bit % 64);
	return was;
}
