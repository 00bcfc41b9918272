/* SPDX-License-Identifier: MIT */
/* Turns chunks into keys, and numbers of blocks into places. */
#include "tier/chunks.h"

#include "image/members/address.h"

static uint32_t chunks_phase(const struct chunk *chunk)
{
	return address_offset(chunk->address) % STORE_BLOCK;
}

bool chunks_find(const struct shelf *shelf, const struct chunk *chunk, uint64_t *ret_place)
{
	uint64_t block, place;

	if (!shelf_find(shelf, map_key(chunk), &block))
		return false;
	place = block * STORE_BLOCK + chunks_phase(chunk);
	if (place + chunk->stored > shelf_size(shelf))
		return false;
	*ret_place = place;
	return true;
}

void chunks_hit(struct shelf *shelf, uint64_t place)
{
	shelf_hit(shelf, (uint32_t)(place / SLOTS_SIZE));
}

void chunks_forget(struct shelf *shelf, const struct chunk *chunk, uint64_t place)
{
	shelf_forget(shelf, map_key(chunk), place / STORE_BLOCK);
}

void chunks_add(struct store *store, const struct chunk *chunk, const struct iovec *parts, int count)
{
	uint64_t key = map_key(chunk), there;

	if (map_find(&store->table.map, key, &there))
		return;
	if (!stage_add(store->stage, key, chunks_phase(chunk), parts, count))
		atomic_fetch_add_explicit(&store->dropped, 1, memory_order_relaxed);
}
