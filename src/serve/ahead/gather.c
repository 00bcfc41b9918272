/* SPDX-License-Identifier: MIT */
/* Builds the list of chunks of a read and adds up their sizes, see read_request.chunks. */
#include "serve/ahead/gather.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "image/members/address.h"

void gather_begin(struct gather *gather, const struct index *index)
{
	gather->index = index;
	gather->count = 0;
	gather->content = gather->stored = gather->end = 0;
}

bool gather_is_wanted(const struct inode *inode)
{
	return S_ISREG(inode->mode) && inode->size && inode->size <= READ_MAX;
}

/* A file, and where it begins on the volume. */
struct gather_place {
	uint64_t address, ordinal;
};

static int gather_compare(const void *a, const void *b)
{
	const struct gather_place *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* The address of the file's first chunk; 0: it is on no member, or the file is not wanted. */
static uint64_t gather_address(const struct index *index, const struct inode *inode)
{
	struct chunk chunk;

	if (!gather_is_wanted(inode) || chunk_get(index, inode, 0, &chunk, NULL) < 0 || chunk_is_inline(&chunk))
		return 0;
	return chunk.address;
}

static uint64_t gather_address_of(const struct index *index, uint64_t ordinal)
{
	struct inode inode;

	return inode_get(index, ordinal, &inode, NULL) < 0 ? 0 : gather_address(index, &inode);
}

void gather_sort(const struct index *index, uint64_t *ordinals, uint32_t count)
{
	struct gather_place places[GATHER_FILES];

	assert(count <= GATHER_FILES);
	for (uint32_t i = 0; i < count; i++)
		places[i] = (struct gather_place){ gather_address_of(index, ordinals[i]), ordinals[i] };
	qsort(places, count, sizeof(places[0]), gather_compare);
	for (uint32_t i = 0; i < count; i++)
		ordinals[i] = places[i].ordinal;
}

/* The span of a leg's files on one member. */
struct gather_span {
	uint64_t first, end; /* addresses of the first and of the last file; 0: the member has none */
};

static void gather_measure(const struct index *index, const uint64_t *ordinals, uint32_t count,
			   struct gather_span *spans)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t address = gather_address_of(index, ordinals[i]);
		struct gather_span *span = &spans[address_member(address)];

		if (!address)
			continue;
		if (!span->end || address < span->first)
			span->first = address;
		if (address > span->end)
			span->end = address;
	}
}

/* Whether a file lies within the span of its member and is small enough to fill the rest of a block. */
static bool gather_is_among(const struct index *index, uint64_t ordinal, const struct gather_span *spans)
{
	const struct gather_span *span;
	struct inode inode;
	uint64_t address;

	if (inode_get(index, ordinal, &inode, NULL) < 0 || inode.size >= DSFS_BLOCK)
		return false;
	address = gather_address(index, &inode);
	span = &spans[address_member(address)];
	return address > span->first && address < span->end;
}

uint32_t gather_among(const struct index *index, uint64_t *ordinals, uint32_t count, uint64_t from, uint64_t end,
		      struct gather_taken *taken)
{
	struct gather_span spans[DSFS_MEMBER_MAX + 1] = { 0 };

	gather_measure(index, ordinals, count, spans);
	end = end - from < GATHER_NEAR ? end : from + GATHER_NEAR;
	for (uint64_t ordinal = from; ordinal < end && count < GATHER_FILES; ordinal++) {
		uint64_t bit = ordinal % GATHER_NEAR, *word = &taken->bits[bit / 64];

		if (*word >> bit % 64 & 1 || !gather_is_among(index, ordinal, spans))
			continue;
		*word |= UINT64_C(1) << bit % 64;
		ordinals[count++] = ordinal;
	}
	return count;
}

bool gather_was_taken(struct gather_taken *taken, uint64_t ordinal)
{
	uint64_t bit = ordinal % GATHER_NEAR, *word = &taken->bits[bit / 64];
	bool was = *word >> bit % 64 & 1;

	*word &= ~(UINT64_C(1) << bit % 64);
	return was;
}

static void gather_add_chunk(struct gather *gather, const struct chunk *chunk)
{
	bool on_device = !chunk_is_hole(chunk) && !chunk_is_inline(chunk);

	gather->chunks[gather->count++] = *chunk;
	gather->content += chunk->length;
	if (!on_device)
		return;
	if (chunk->address >= gather->end && chunk->address - gather->end <= GATHER_GAP)
		gather->stored += chunk->address - gather->end;
	gather->stored += chunk->stored;
	gather->end = chunk->address + chunk->stored;
}

/* Whether the chunk is the first on another member and the read is large enough to end here. The other member's files
 * then come in one piece, with the next read. */
static bool gather_turns(const struct gather *gather, const struct chunk *chunk)
{
	return gather->stored >= READ_MAX / 2 && !chunk_is_hole(chunk) && !chunk_is_inline(chunk) &&
	       address_member(chunk->address) != address_member(gather->end);
}

bool gather_add(struct gather *gather, const struct inode *inode)
{
	uint64_t count = inode_chunk_count(gather->index, inode);
	uint64_t content = gather->content, stored = gather->stored, end = gather->end;
	uint32_t before = gather->count;
	struct chunk chunk;
	bool fits = count <= READ_PIECES - before;

	for (uint64_t i = 0; i < count && fits; i++) {
		fits = chunk_get(gather->index, inode, i, &chunk, NULL) == 0 && (i || !gather_turns(gather, &chunk));
		if (fits)
			gather_add_chunk(gather, &chunk);
	}
	if (fits && gather->content <= READ_MAX && gather->stored <= READ_MAX)
		return true;
	gather->count = before;
	gather->content = content;
	gather->stored = stored;
	gather->end = end;
	return false;
}
