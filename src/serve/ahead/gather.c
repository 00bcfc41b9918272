/* SPDX-License-Identifier: MIT */
/* Adds up what a list of chunks comes to, see read_request.chunks. */
#include "serve/ahead/gather.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/stat.h>

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

static uint64_t gather_address(const struct index *index, uint64_t ordinal)
{
	struct inode inode;
	struct chunk chunk;

	if (inode_get(index, ordinal, &inode, NULL) < 0 || !gather_is_wanted(&inode) ||
	    chunk_get(index, &inode, 0, &chunk, NULL) < 0)
		return 0;
	return chunk.address;
}

void gather_sort(const struct index *index, uint64_t *ordinals, uint32_t count)
{
	struct gather_place places[GATHER_FILES];

	assert(count <= GATHER_FILES);
	for (uint32_t i = 0; i < count; i++)
		places[i] = (struct gather_place){ gather_address(index, ordinals[i]), ordinals[i] };
	qsort(places, count, sizeof(places[0]), gather_compare);
	for (uint32_t i = 0; i < count; i++)
		ordinals[i] = places[i].ordinal;
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

bool gather_add(struct gather *gather, const struct inode *inode)
{
	uint64_t count = inode_chunk_count(gather->index, inode);
	uint64_t content = gather->content, stored = gather->stored, end = gather->end;
	uint32_t before = gather->count;
	struct chunk chunk;
	bool fits = count <= READ_PIECES - before;

	for (uint64_t i = 0; i < count && fits; i++) {
		fits = chunk_get(gather->index, inode, i, &chunk, NULL) == 0;
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
