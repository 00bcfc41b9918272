/* SPDX-License-Identifier: MIT */
/* Builds the list of chunks of a read, see read_request.chunks. */
#include "serve/readahead/pick.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "image/members/address.h"

void pick_begin(struct pick *pick, const struct index *index)
{
	pick->index = index;
	pick->gather = (struct gather){ .gap = PICK_GAP };
}

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

/* A chunk of the file, if it is on a member. */
static bool pick_chunk(const struct index *index, const struct inode *inode, uint64_t number, struct chunk *ret)
{
	return chunk_get(index, inode, number, ret, NULL) == 0 && !chunk_is_inline(ret) && !chunk_is_hole(ret);
}

/* The address of the file's first chunk; 0: it is on no member, or the file is not wanted. */
static uint64_t pick_address(const struct index *index, const struct inode *inode)
{
	struct chunk chunk;

	return pick_is_wanted(inode) && pick_chunk(index, inode, 0, &chunk) ? chunk.address : 0;
}

uint64_t pick_where(const struct index *index, const struct inode *inode, uint32_t *ret_stored)
{
	uint64_t count = inode_chunk_count(index, inode);
	struct chunk first, last;

	*ret_stored = 0;
	if (!pick_is_wanted(inode) || !pick_chunk(index, inode, 0, &first))
		return 0;
	*ret_stored = first.stored;
	if (count > 1 && pick_chunk(index, inode, count - 1, &last) && last.address >= first.address &&
	    last.address - first.address <= READ_MAX)
		*ret_stored = (uint32_t)(last.address - first.address) + last.stored;
	return first.address;
}

bool pick_has(const struct index *index, uint64_t ordinal, const struct chunk *chunk)
{
	struct inode inode;
	struct chunk own;
	uint64_t count = inode_get(index, ordinal, &inode, NULL) < 0 ? 0 : inode_chunk_count(index, &inode);

	for (uint64_t i = 0; i < count; i++)
		if (pick_chunk(index, &inode, i, &own) && own.address == chunk->address)
			return true;
	return false;
}

static uint64_t pick_address_of(const struct index *index, uint64_t ordinal)
{
	struct inode inode;

	return inode_get(index, ordinal, &inode, NULL) < 0 ? 0 : pick_address(index, &inode);
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
	address = pick_address(index, &inode);
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

static bool pick_add_chunk(struct pick *pick, const struct chunk *chunk)
{
	uint32_t at = pick->gather.count;

	if (!gather_add(&pick->gather, chunk))
		return false;
	pick->chunks[at] = *chunk;
	return true;
}

/* Whether the chunk is the first on another member and the read is large enough to end here. The other member's files
 * then come in one piece, with the next read. */
static bool pick_turns(const struct pick *pick, const struct chunk *chunk)
{
	return pick->gather.stored >= READ_MAX / 2 && !chunk_is_hole(chunk) && !chunk_is_inline(chunk) &&
	       address_member(chunk->address) != address_member(pick->gather.end);
}

bool pick_add(struct pick *pick, const struct inode *inode)
{
	uint64_t count = inode_chunk_count(pick->index, inode);
	struct gather before = pick->gather;
	bool fits = count <= READ_PIECES - before.count;
	struct chunk chunk;

	for (uint64_t i = 0; i < count && fits; i++)
		fits = chunk_get(pick->index, inode, i, &chunk, NULL) == 0 && (i || !pick_turns(pick, &chunk)) &&
		       pick_add_chunk(pick, &chunk);
	if (!fits)
		pick->gather = before;
	return fits;
}
