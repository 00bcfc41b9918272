/* SPDX-License-Identifier: MIT */
/* Asks the map of the cache for each chunk. */
#include "cache/store.h"
#include "serve/cache/cached_files.h"

#include "image/chunk.h"
#include "read/op.h"

/* A file with a record that is wrong, whichever it is, counts as missing: it is tried, and named. It does not stand for
 * other files that begin with the same chunk, as it cannot be read. */
struct cached_file cached_files_find(const struct store *store, const struct index *index, const struct inode *inode)
{
	uint64_t count = inode_chunk_count(index, inode), where;
	struct cached_file file = { .place = CACHED_FILE_INDEX };
	struct chunk chunk;

	if (inode->size > READ_MAX)
		return (struct cached_file){ .place = CACHED_FILE_LARGE };
	for (uint64_t i = 0; i < count; i++) {
		if (chunk_get(index, inode, i, &chunk, NULL) < 0)
			return (struct cached_file){ CACHED_FILE_MISSING, 1, CACHED_FILE_DAMAGED };
		if (chunk_is_hole(&chunk) || chunk_is_inline(&chunk))
			continue;
		if (!view_find(&store->view, &chunk, &where) && !file.missing++)
			file.address = chunk.address;
		file.place = file.missing ? CACHED_FILE_MISSING : CACHED_FILE_WHOLE;
	}
	return file;
}

void cached_files_add(struct cached_files *counts, const struct cached_file *file, uint64_t bytes)
{
	counts->files[file->place]++;
	counts->bytes[file->place] += bytes;
	counts->chunks += file->missing;
}
