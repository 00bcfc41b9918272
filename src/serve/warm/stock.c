/* SPDX-License-Identifier: MIT */
/* Asks the map of the cache for each chunk. */
#include "serve/warm/stock.h"

#include "image/chunk.h"
#include "read/op.h"
#include "tier/chunks.h"

/* A record that is wrong counts as a chunk that is missing: the file is tried, and named. */
enum stock_place stock_find(const struct store *store, const struct index *index, const struct inode *inode,
			    uint64_t *ret_address)
{
	uint64_t count = inode_chunk_count(index, inode), where;
	enum stock_place place = STOCK_INDEX;
	struct chunk chunk;

	if (inode->size > READ_MAX)
		return STOCK_LARGE;
	for (uint64_t i = 0; i < count; i++) {
		*ret_address = STOCK_DAMAGED;
		if (chunk_get(index, inode, i, &chunk, NULL) < 0)
			return STOCK_MISSING;
		if (chunk_is_hole(&chunk) || chunk_is_inline(&chunk))
			continue;
		place = STOCK_CACHED;
		*ret_address = chunk.address;
		if (!chunks_find(&store->shelf, &chunk, &where))
			return STOCK_MISSING;
	}
	return place;
}

void stock_add(struct stock *stock, enum stock_place place, uint64_t bytes)
{
	stock->files[place]++;
	stock->bytes[place] += bytes;
}
