/* SPDX-License-Identifier: MIT */
/* Asks the map of the cache for each chunk. */
#include "cache/store.h"
#include "serve/cache/stock.h"

#include "image/chunk.h"
#include "read/op.h"

/* A file with a record that is wrong, whichever it is, counts as missing: it is tried, and named. It does not stand for
 * other files that begin with the same chunk, as it cannot be read. */
struct stock_file stock_find(const struct store *store, const struct index *index, const struct inode *inode)
{
	uint64_t count = inode_chunk_count(index, inode), where;
	struct stock_file file = { .place = STOCK_INDEX };
	struct chunk chunk;

	if (inode->size > READ_MAX)
		return (struct stock_file){ .place = STOCK_LARGE };
	for (uint64_t i = 0; i < count; i++) {
		if (chunk_get(index, inode, i, &chunk, NULL) < 0)
			return (struct stock_file){ STOCK_MISSING, 1, STOCK_DAMAGED };
		if (chunk_is_hole(&chunk) || chunk_is_inline(&chunk))
			continue;
		if (!view_find(&store->view, &chunk, &where) && !file.missing++)
			file.address = chunk.address;
		file.place = file.missing ? STOCK_MISSING : STOCK_CACHED;
	}
	return file;
}

void stock_add(struct stock *stock, const struct stock_file *file, uint64_t bytes)
{
	stock->files[file->place]++;
	stock->bytes[file->place] += bytes;
	stock->chunks += file->missing;
}
