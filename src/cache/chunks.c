/* SPDX-License-Identifier: MIT */
/* Turns chunks into keys, and numbers of blocks into places. */
#include "cache/chunks.h"

#include "image/members/address.h"

static uint32_t chunks_phase(const struct chunk *chunk)
{
	return address_offset(chunk->address) % STORE_BLOCK;
}

bool chunks_find(const struct view *view, const struct chunk *chunk, uint64_t *ret_place)
{
	uint64_t block, place;

	if (!view_find(view, chunk_map_key(chunk), &block))
		return false;
	place = block * STORE_BLOCK + chunks_phase(chunk);
	if (place + chunk->stored > view_size(view))
		return false;
	*ret_place = place;
	return true;
}

void chunks_hit(struct view *view, uint64_t place)
{
	view_hit(view, (uint32_t)(place / SLOTS_SIZE));
}

void chunks_forget(struct view *view, const struct chunk *chunk, uint64_t place)
{
	view_forget(view, chunk_map_key(chunk), place / STORE_BLOCK);
}

void chunks_add(struct store *store, const struct chunk *chunk, const struct iovec *parts, int count)
{
	uint64_t key = chunk_map_key(chunk), there;

	if (chunk_map_find(&store->table.map, key, &there))
		return;
	if (!stage_add(store->stage, key, chunks_phase(chunk), parts, count))
		atomic_fetch_add_explicit(&store->dropped, 1, memory_order_relaxed);
}
