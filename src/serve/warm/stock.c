/* SPDX-License-Identifier: MIT */
/* Asks the map of the cache for each chunk. */
#include "serve/warm/stock.h"

#include "image/chunk.h"
#include "read/op.h"
#include "tier/chunks.h"

/* A file with a record that is wrong, whichever it is, counts as missing: it is tried, and named. It does not stand for
 * other files that begin with the same chunk, as it cannot be read. */
enum stock_place stock_find(const struct store *store, const struct index *index, const struct inode *inode,
			    uint64_t *ret_address)
{
	uint64_t count = inode_chunk_count(index, inode), address = 0, where;
	enum stock_place place = STOCK_INDEX;
	struct chunk chunk;

	if (inode->size > READ_MAX)
		return STOCK_LARGE;
	for (uint64_t i = 0; i < count; i++) {
		if (chunk_get(index, inode, i, &chunk, NULL) < 0) {
			*ret_address = STOCK_DAMAGED;
			return STOCK_MISSING;
		}
		if (address || chunk_is_hole(&chunk) || chunk_is_inline(&chunk))
			continue;
		place = STOCK_CACHED;
		if (!chunks_find(&store->shelf, &chunk, &where))
			address = chunk.address;
	}
	*ret_address = address;
	return address ? STOCK_MISSING : place;
}

void stock_add(struct stock *stock, enum stock_place place, uint64_t bytes)
{
	stock->files[place]++;
	stock->bytes[place] += bytes;
}
