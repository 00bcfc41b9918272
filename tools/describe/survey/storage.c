/* SPDX-License-Identifier: MIT */
/* Adds up the chunks of files, counting each place on the volume once. */
#include "describe/survey/storage.h"

#include "base/round.h"
#include "image/chunk.h"

#define STORAGE_BLOCK 4096u /* that a direct read is rounded to */

int storage_open(struct storage *storage, const struct index *index, struct error *err)
{
	*storage = (struct storage){ 0 };
	return seen_open(&storage->addresses, index->shape.chunk_count, err);
}

void storage_close(struct storage *storage)
{
	seen_close(&storage->addresses);
}

static void storage_add_chunk(struct storage *storage, const struct chunk *chunk)
{
	if (!seen_add(&storage->addresses, chunk->address)) {
		storage->shared_bytes += chunk->length;
		return;
	}
	storage->unique_bytes += chunk->length;
	storage->stored_bytes += chunk->stored;
	storage->index_bytes += chunk_is_inline(chunk) ? chunk->length : 0;
	storage->chunks++;
	storage->compressed_chunks += chunk->codec != DSFS_CODEC_RAW;
}

/* Counts the reads of a whole file that has so many bytes on the volume: larger files are read in pieces. */
static void storage_add_reads(struct storage *storage, const struct inode *inode, uint64_t stored)
{
	uint64_t reads = (stored + STORAGE_SMALL - 1) / STORAGE_SMALL, bytes = round_up(stored, STORAGE_BLOCK);

	if (inode->size <= STORAGE_SMALL) {
		reads = stored != 0;
		storage->small_reads += reads;
		storage->small_bytes += bytes;
	}
	storage->reads += reads;
	storage->read_bytes += bytes;
}

int storage_add(struct storage *storage, const struct index *index, const struct inode *inode, struct error *err)
{
	uint64_t count = inode_chunk_count(index, inode), stored = 0, run;
	struct chunk chunk;
	int r;

	for (uint64_t i = 0; i < count; i += run) {
		r = chunk_get_run(index, inode, i, &chunk, &run, err);
		if (r < 0)
			return r;
		if (chunk_is_hole(&chunk))
			storage->hole_bytes += chunk_run_bytes(index, inode, i, run);
		else
			storage_add_chunk(storage, &chunk);
		stored += chunk_is_hole(&chunk) || chunk_is_inline(&chunk) ? 0 : chunk.stored;
	}
	storage_add_reads(storage, inode, stored);
	return 0;
}
