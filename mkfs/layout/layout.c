/* SPDX-License-Identifier: MIT */
/* Shares or stores one item after the other. */
#include "layout/layout.h"

#include <errno.h>

#include "base/cleanup.h"

#define LAYOUT_AHEAD 8u /* items between the prefetch of a table slot and its use */

static int layout_open_parts(struct layout *layout, const struct layout_setup *setup, struct error *err)
{
	struct records *records = &layout->records;
	int r;

	r = records_open(records, setup->temp, setup->chunk_log, setup->sums, setup->override, err);
	if (r == 0 && setup->is_random)
		r = scatter_open(setup->temp, setup->seed, &layout->scatter, err);
	if (r == 0)
		r = share_open(&layout->share, setup->dedup, records, setup->writer, setup->temp, err);
	layout->share.scatter = layout->store.scatter = layout->scatter;
	if (r == 0)
		r = holes_open(&layout->holes, records, setup->temp, setup->chunk_log, err);
	if (r == 0)
		r = large_open(&layout->large, &layout->holes, &layout->store, &layout->share, err);
	if (r == 0 && setup->writes_stat_cache)
		r = stat_cache_writer_open(&layout->stat_cache_writer, setup->temp, setup->all_xattrs, setup->settled,
					   err);
	return r;
}

int layout_open(struct layout *layout, const struct layout_setup *setup, struct error *err)
{
	int r;

	*layout = (struct layout){ .hints = setup->hints, .progress = setup->progress };
	layout->store = (struct store){
		.writer = setup->writer, .allocator = setup->allocator, .records = &layout->records
	};
	layout->unchanged = (struct unchanged){ .stat_cache = setup->stat_cache,
						.block_sums = setup->block_sums,
						.holes = &layout->holes,
						.store = &layout->store,
						.share = &layout->share };
	r = layout_open_parts(layout, setup, err);
	if (r < 0)
		layout_close(layout);
	return r;
}

void layout_close(struct layout *layout)
{
	scatter_close(layout->scatter);
	large_close(&layout->large);
	holes_close(&layout->holes);
	share_close(&layout->share);
	records_close(&layout->records);
	stat_cache_writer_close(&layout->stat_cache_writer);
	*layout = (struct layout){ 0 };
}

int layout_place(struct layout *layout, struct error *err)
{
	int r;

	if (!layout->scatter)
		return 0;
	r = scatter_finish(layout->scatter, layout->store.writer, &layout->records, layout->progress, err);
	scatter_close(take_ptr(&layout->scatter));
	return r;
}

void layout_end(struct layout *layout)
{
	share_close(&layout->share);
	classes_end(&layout->records.classes);
}

static int layout_add_directory(struct layout *layout, const struct item *item, struct error *err)
{
	struct inode inode = { .size = item->entries, .where = item->parent };

	if (item->subdirectories > UINT32_MAX - 2)
		return error_set(err, -EMLINK, "'%s' has too many subdirectories", item->dir->path);
	inode.nlink = 2 + (uint32_t)item->subdirectories;
	layout->counts.directories++;
	return records_set_inode(&layout->records, item, inode, err);
}

static int layout_add_symlink(struct layout *layout, const struct item *item, struct error *err)
{
	struct inode inode = { .size = item->length, .nlink = 1 };
	int r;

	r = mapped_append(&layout->records.blob, item->content, item->length, &inode.where, err);
	if (r < 0)
		return r;
	layout->counts.symlinks++;
	if (!item->is_loaded)
		outward_look(&layout->outward, item->dir->path, item->name, (const char *)item->content);
	return records_set_inode(&layout->records, item, inode, err);
}

/* Counts another name of an inode. Batches come in order, so the inode exists. */
static int layout_add_link(struct layout *layout, const struct item *item, struct error *err)
{
	struct dsfs_inode *inode = records_inode(&layout->records, item->ordinal);

	if (dsfs_le32_get(inode->nlink) == UINT32_MAX)
		return error_set(err, -EMLINK, "'%s' has too many names", item->name);
	inode->nlink = dsfs_le32_of(dsfs_le32_get(inode->nlink) + 1);
	layout->counts.links++;
	return 0;
}

static int layout_file_inode(struct layout *layout, const struct item *item, uint64_t where, bool sparse,
			     struct error *err)
{
	struct inode inode = { .size = item->attributes.size, .where = where, .sparse = sparse, .nlink = 1 };
	int r;

	layout->counts.files++;
	layout->counts.content_bytes += item->attributes.size;
	progress_add(layout->progress, 1, 0);
	r = stat_cache_writer_add(&layout->stat_cache_writer, item->ordinal, &item->attributes, err);
	return r < 0 ? r : records_set_inode(&layout->records, item, inode, err);
}

static uint64_t layout_hole_bytes(const struct batch *batch, const struct item *item)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < item->result.chunk_count; i++)
		if (batch->chunks[item->result.first_chunk + i].is_hole)
			bytes += batch->chunks[item->result.first_chunk + i].length;
	return bytes;
}

static void layout_learn_compression(struct layout *layout, const struct batch *batch, const struct item *item)
{
	uint64_t content = 0, stored = 0;

	if (!layout->hints || !item->compress || item->offset)
		return;
	for (uint32_t i = 0; i < item->result.chunk_count; i++)
		if (batch->chunks[item->result.first_chunk + i].duplicate_of) /* not compressed, because it is shared */
			return;
	for (uint32_t i = 0; i < item->result.chunk_count; i++) {
		const struct batch_chunk *chunk = &batch->chunks[item->result.first_chunk + i];

		content += chunk->is_hole ? 0 : chunk->length;
		stored += chunk->stored;
	}
	if (content)
		compress_hints_learn(layout->hints, item->file_kind, batch->number, content, stored);
}

/* Shares a file whose chunks are all on the volume: copies their records. */
static int layout_share(struct layout *layout, const struct batch *batch, const struct item *item, uint64_t *ret_first,
			struct error *err)
{
	uint64_t first = records_chunk_count(&layout->records);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < item->result.chunk_count; i++) {
		const struct batch_chunk *chunk = &batch->chunks[item->result.first_chunk + i];

		r = store_existing(&layout->store, share_record(&layout->share, chunk->duplicate_of), chunk->block_sums,
				   err);
	}
	if (r == 0)
		r = share_add_file(&layout->share, item, first, err);
	if (r == 0)
		*ret_first = first;
	return r;
}

static int layout_store(struct layout *layout, const struct batch *batch, const struct item *item, uint64_t *ret_first,
			struct error *err)
{
	int r = store_file(&layout->store, batch, item, ret_first, err);

	return r < 0 ? r : share_add_file(&layout->share, item, *ret_first, err);
}

/* Returns 1 and the first record if the file is already on the volume, in this version or an older one; else 0. */
static int layout_find(struct layout *layout, const struct batch *batch, const struct item *item, uint64_t *ret_first,
		       struct error *err)
{
	int r = share_find_file(&layout->share, batch, item, ret_first, err);
	int marked = r > 0 ? records_share(&layout->records, *ret_first, err) : 0;

	if (marked < 0)
		return marked;
	if (r || !batch->chunks[item->result.first_chunk].duplicate_of)
		return r;
	r = layout_share(layout, batch, item, ret_first, err);
	return r < 0 ? r : 1;
}

static int layout_add_file(struct layout *layout, const struct batch *batch, const struct item *item, struct error *err)
{
	uint64_t holes = layout_hole_bytes(batch, item), first = 0;
	int r;

	layout->counts.unchanged += item->previous_ordinal != 0;
	layout_learn_compression(layout, batch, item);
	if (item->length) {
		r = layout_find(layout, batch, item, &first, err);
		if (r < 0)
			return r;
		if (r)
			layout->counts.shared_bytes += item->length - holes;
		else
			r = layout_store(layout, batch, item, &first, err);
		if (r < 0)
			return r;
	}
	layout->counts.hole_bytes += holes;
	return layout_file_inode(layout, item, first, holes > 0, err);
}

/* Adds a piece of a large file. The first piece has the xattrs, so it makes the inode; the last one completes it, when
 * it is known whether there are holes. */
static int layout_add_piece(struct layout *layout, const struct batch *batch, const struct item *item,
			    struct error *err)
{
	struct large *large = &layout->large;
	struct dsfs_inode *inode;
	bool done;
	int r;

	layout_learn_compression(layout, batch, item);
	r = large_add_piece(large, batch, item, &done, err);
	if (r == 0 && item->offset == 0)
		r = layout_file_inode(layout, item, large->first, false, err);
	if (r < 0 || !done)
		return r;
	inode = records_inode(&layout->records, item->ordinal);
	inode->where = dsfs_le64_of(large->where | (large->sparse ? DSFS_WHERE_SPARSE : 0));
	layout->counts.shared_bytes += large->shared_bytes;
	layout->counts.hole_bytes += large->hole_bytes;
	return 0;
}

static int layout_add_unchanged(struct layout *layout, const struct item *item, struct error *err)
{
	uint64_t hole_bytes;
	struct inode inode;
	int r;

	r = unchanged_copy(&layout->unchanged, item, &inode, &hole_bytes, err);
	if (r < 0)
		return r;
	layout->counts.unchanged++;
	layout->counts.shared_bytes += inode.size - hole_bytes;
	layout->counts.hole_bytes += hole_bytes;
	return layout_file_inode(layout, item, inode.where, inode.sparse, err);
}

static int layout_add_item(struct layout *layout, const struct batch *batch, const struct item *item, struct error *err)
{
	layout->counts.read_bytes += item->result.read_bytes;
	switch (item->kind) {
	case ITEM_UNCHANGED:
		return layout_add_unchanged(layout, item, err);
	case ITEM_FILE:
		return layout_add_file(layout, batch, item, err);
	case ITEM_PIECE:
		return layout_add_piece(layout, batch, item, err);
	case ITEM_SKIP:
		progress_add(layout->progress, 0, item->skip - item->length);
		return large_skip(&layout->large, item, err);
	case ITEM_SYMLINK:
		return layout_add_symlink(layout, item, err);
	case ITEM_DIRECTORY:
		return layout_add_directory(layout, item, err);
	case ITEM_LINK:
		break;
	}
	return layout_add_link(layout, item, err);
}

int layout_add_batch(struct layout *layout, const struct batch *batch, struct error *err)
{
	int r;

	for (uint32_t i = 0; i < batch->count; i++) {
		if (i + LAYOUT_AHEAD < batch->count)
			share_prefetch(&layout->share, &batch->items[i + LAYOUT_AHEAD]);
		r = layout_add_item(layout, batch, &batch->items[i], err);
		if (r < 0)
			return r;
	}
	progress_add(layout->progress, 0, batch->content_used);
	return 0;
}
