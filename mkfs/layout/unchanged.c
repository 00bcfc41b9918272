/* SPDX-License-Identifier: MIT */
/* Copies records from the trusted version. */
#include "layout/unchanged.h"

#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "image/chunk.h"

/* Copies a chunk's record. The chunk is not read, so its block checksums are those of the trusted version, if any. */
static int unchanged_copy_chunk(struct unchanged *unchanged, uint64_t number, struct error *err)
{
	const struct index *index = &unchanged->stat_cache->previous.index;
	const uint8_t *block_sums = NULL;
	struct error why = { 0 };

	if (unchanged->block_sums && block_sums_view_row(unchanged->block_sums, number, &block_sums, &why) < 0 &&
	    !unchanged->block_sums_failed) {
		log_warn("unread files get only some of their block checksums: %s, ignoring", why.reason);
		unchanged->block_sums_failed = true;
	}
	return store_existing(unchanged->store, index_record(index, number), block_sums, err);
}

static int unchanged_copy_chunks(struct unchanged *unchanged, const struct item *item, const struct inode *inode,
				 uint64_t *ret_where, struct error *err)
{
	const struct index *index = &unchanged->stat_cache->previous.index;
	uint64_t run;
	struct chunk chunk;
	int r;

	holes_begin(unchanged->holes);
	for (uint64_t i = 0; i < inode_chunk_count(index, inode); i += run) {
		r = chunk_get_run(index, inode, i, &chunk, &run, err);
		if (r == 0 && chunk_is_inline(&chunk))
			r = error_set(err, -EBADMSG,
				      "inode %" PRIu64 " of the trusted version has a chunk in its index",
				      inode->ordinal);
		if (r < 0)
			return r;
		if (chunk_is_hole(&chunk)) {
			r = holes_add(unchanged->holes, item, run, err);
		} else {
			r = holes_flush(unchanged->holes, err);
			if (r == 0)
				r = unchanged_copy_chunk(unchanged, chunk.number, err);
		}
		if (r < 0)
			return r;
	}
	return holes_end(unchanged->holes, ret_where, err);
}

/* Copies the records of a small file, once for all unread files that share them. Later files with the same content find
 * it as if it had been read. */
static int unchanged_copy_small(struct unchanged *unchanged, const struct item *item, const struct inode *inode,
				uint64_t *ret_first, struct error *err)
{
	const struct index *index = &unchanged->stat_cache->previous.index;
	int r;

	if (share_find_records(unchanged->share, item, index_record(index, inode->where),
			       inode_chunk_count(index, inode), ret_first))
		return 0;
	r = unchanged_copy_chunks(unchanged, item, inode, ret_first, err);
	return r < 0 ? r : share_add_file(unchanged->share, item, *ret_first, err);
}

/* Counts the bytes of holes. Most files have none, so only those marked sparse are searched. */
static uint64_t unchanged_hole_bytes(const struct index *index, const struct inode *inode)
{
	uint64_t bytes = 0, run = 1;
	struct chunk chunk;

	for (uint64_t i = 0; inode->sparse && i < inode_chunk_count(index, inode); i += run)
		if (chunk_get_run(index, inode, i, &chunk, &run, NULL) == 0 && chunk_is_hole(&chunk))
			bytes += chunk_run_bytes(index, inode, i, run);
	return bytes;
}

int unchanged_copy(struct unchanged *unchanged, const struct item *item, struct inode *ret, uint64_t *ret_hole_bytes,
		   struct error *err)
{
	const struct index *index = &unchanged->stat_cache->previous.index;
	struct inode inode;
	uint64_t where = 0;
	int r;

	r = inode_get(index, item->previous_ordinal, &inode, err);
	if (r == 0 && inode.size <= BATCH_BYTES)
		r = unchanged_copy_small(unchanged, item, &inode, &where, err);
	else if (r == 0)
		r = unchanged_copy_chunks(unchanged, item, &inode, &where, err);
	if (r < 0)
		return r;
	*ret_hole_bytes = unchanged_hole_bytes(index, &inode);
	*ret = inode;
	ret->where = where;
	return 0;
}
