/* SPDX-License-Identifier: MIT */
/* The choice between sharing and storing, one item after the other. */
#include "layout/sequence.h"

#include <errno.h>

#define SEQUENCE_AHEAD 8u /* items between the question for a slot's memory and its use */

static int sequence_open_parts(struct sequence *sequence, const struct sequence_setup *setup, struct error *err)
{
	struct records *records = &sequence->records;
	int r;

	r = records_open(records, setup->temp, setup->chunk_log, err);
	if (r == 0)
		r = share_open(&sequence->share, setup->known, records, setup->writer, setup->temp, setup->chunk_log,
			       err);
	if (r == 0)
		r = holes_open(&sequence->holes, records, setup->temp, err);
	if (r == 0)
		r = large_open(&sequence->large, records, &sequence->holes, &sequence->store, &sequence->share,
			       setup->chunk_log, err);
	if (r == 0 && setup->has_stat_cache)
		r = stat_cache_writer_open(&sequence->stat_cache, setup->temp, setup->settled, err);
	return r;
}

int sequence_open(struct sequence *sequence, const struct sequence_setup *setup, struct error *err)
{
	int r;

	*sequence = (struct sequence){ .kinds = setup->kinds, .progress = setup->progress };
	sequence->store = (struct store){ setup->writer, setup->space, &sequence->records, 0 };
	sequence->unchanged = (struct unchanged){ .trust = setup->trust,
						  .fine = setup->fine,
						  .holes = &sequence->holes,
						  .store = &sequence->store,
						  .share = &sequence->share };
	r = sequence_open_parts(sequence, setup, err);
	if (r < 0)
		sequence_close(sequence);
	return r;
}

void sequence_close(struct sequence *sequence)
{
	large_close(&sequence->large);
	holes_close(&sequence->holes);
	share_close(&sequence->share);
	records_close(&sequence->records);
	stat_cache_writer_close(&sequence->stat_cache);
	*sequence = (struct sequence){ 0 };
}

void sequence_end(struct sequence *sequence)
{
	share_close(&sequence->share);
	classes_end(&sequence->records.classes);
}

static int sequence_directory(struct sequence *sequence, const struct item *item, struct error *err)
{
	struct inode inode = { .size = item->entries, .where = item->parent };

	if (item->subdirectories > UINT32_MAX - 2)
		return error_set(err, -EMLINK, "'%s' has too many subdirectories", item->dir->path);
	inode.nlink = 2 + (uint32_t)item->subdirectories;
	sequence->counts.directories++;
	return records_set_inode(&sequence->records, item, inode, err);
}

static int sequence_symlink(struct sequence *sequence, const struct item *item, struct error *err)
{
	struct inode inode = { .size = item->length, .nlink = 1 };
	int r;

	r = mapped_append(&sequence->records.blob, item->content, item->length, &inode.where, err);
	if (r < 0)
		return r;
	sequence->counts.symlinks++;
	return records_set_inode(&sequence->records, item, inode, err);
}

/* One more name: the inode was written before, as batches come in order. */
static int sequence_link(struct sequence *sequence, const struct item *item, struct error *err)
{
	struct dsfs_inode *inode = records_inode(&sequence->records, item->ordinal);

	if (le32_get(inode->nlink) == UINT32_MAX)
		return error_set(err, -EMLINK, "'%s' has too many names", item->name);
	inode->nlink = le32_of(le32_get(inode->nlink) + 1);
	sequence->counts.links++;
	return 0;
}

static int sequence_file_inode(struct sequence *sequence, const struct item *item, uint64_t where, bool sparse,
			       struct error *err)
{
	struct inode inode = { .size = item->attributes.size, .where = where, .sparse = sparse, .nlink = 1 };
	int r;

	sequence->counts.files++;
	sequence->counts.content_bytes += item->attributes.size;
	progress_add(sequence->progress, 1, 0);
	r = stat_cache_writer_add(&sequence->stat_cache, item->ordinal, &item->attributes, err);
	return r < 0 ? r : records_set_inode(&sequence->records, item, inode, err);
}

static uint64_t sequence_holes(const struct batch *batch, const struct item *item)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < item->chunk_count; i++)
		if (batch->chunks[item->first_chunk + i].is_hole)
			bytes += batch->chunks[item->first_chunk + i].length;
	return bytes;
}

static void sequence_learn(struct sequence *sequence, const struct batch *batch, const struct item *item)
{
	uint64_t content = 0, stored = 0;

	if (!sequence->kinds || !item->compress || item->offset)
		return;
	for (uint32_t i = 0; i < item->chunk_count; i++)
		if (batch->chunks[item->first_chunk + i].known) /* and so not tried */
			return;
	for (uint32_t i = 0; i < item->chunk_count; i++) {
		const struct batch_chunk *chunk = &batch->chunks[item->first_chunk + i];

		content += chunk->is_hole ? 0 : chunk->length;
		stored += chunk->stored;
	}
	if (content)
		kinds_learn(sequence->kinds, item->file_kind, batch->number, content, stored);
}

/* The whole file lies on the volume: its records are copied. */
static int sequence_share(struct sequence *sequence, const struct batch *batch, const struct item *item,
			  uint64_t *ret_first, struct error *err)
{
	uint64_t first = records_chunk_count(&sequence->records);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < item->chunk_count; i++) {
		const struct batch_chunk *chunk = &batch->chunks[item->first_chunk + i];

		r = store_known(&sequence->store, share_record(&sequence->share, chunk->known), chunk->fine, err);
	}
	if (r == 0)
		r = share_add_file(&sequence->share, item, first, err);
	if (r == 0)
		*ret_first = first;
	return r;
}

static int sequence_store(struct sequence *sequence, const struct batch *batch, const struct item *item,
			  uint64_t *ret_first, struct error *err)
{
	int r = store_file(&sequence->store, batch, item, ret_first, err);

	return r < 0 ? r : share_add_file(&sequence->share, item, *ret_first, err);
}

/* On the volume already: in this version, or in an earlier one. */
static int sequence_find(struct sequence *sequence, const struct batch *batch, const struct item *item,
			 uint64_t *ret_first, struct error *err)
{
	int r = share_find_file(&sequence->share, batch, item, ret_first, err);

	if (r || !batch->chunks[item->first_chunk].known)
		return r;
	r = sequence_share(sequence, batch, item, ret_first, err);
	return r < 0 ? r : 1;
}

static int sequence_file(struct sequence *sequence, const struct batch *batch, const struct item *item,
			 struct error *err)
{
	uint64_t holes = sequence_holes(batch, item), first = 0;
	int r;

	sequence->counts.unchanged += item->earlier != 0;
	sequence_learn(sequence, batch, item);
	if (item->length) {
		r = sequence_find(sequence, batch, item, &first, err);
		if (r < 0)
			return r;
		if (r)
			sequence->counts.shared_bytes += item->length - holes;
		else
			r = sequence_store(sequence, batch, item, &first, err);
		if (r < 0)
			return r;
	}
	sequence->counts.hole_bytes += holes;
	return sequence_file_inode(sequence, item, first, holes > 0, err);
}

/* The inode is made with the first piece, as that has the xattrs; only the last one tells about holes. */
static int sequence_piece(struct sequence *sequence, const struct batch *batch, const struct item *item,
			  struct error *err)
{
	struct large *large = &sequence->large;
	struct dsfs_inode *inode;
	bool done;
	int r;

	sequence_learn(sequence, batch, item);
	r = large_add_piece(large, batch, item, &done, err);
	if (r == 0 && item->offset == 0)
		r = sequence_file_inode(sequence, item, large->first, false, err);
	if (r < 0 || !done)
		return r;
	inode = records_inode(&sequence->records, item->ordinal);
	inode->where = le64_of(large->where | (large->sparse ? DSFS_WHERE_SPARSE : 0));
	sequence->counts.shared_bytes += large->shared_bytes;
	sequence->counts.hole_bytes += large->hole_bytes;
	return 0;
}

static int sequence_unchanged(struct sequence *sequence, const struct item *item, struct error *err)
{
	uint64_t hole_bytes;
	struct inode inode;
	int r;

	r = unchanged_copy(&sequence->unchanged, item, &inode, &hole_bytes, err);
	if (r < 0)
		return r;
	sequence->counts.unchanged++;
	sequence->counts.shared_bytes += inode.size - hole_bytes;
	sequence->counts.hole_bytes += hole_bytes;
	return sequence_file_inode(sequence, item, inode.where, inode.sparse, err);
}

static int sequence_item(struct sequence *sequence, const struct batch *batch, const struct item *item,
			 struct error *err)
{
	sequence->counts.read_bytes += item->read_bytes;
	switch (item->kind) {
	case ITEM_UNCHANGED:
		return sequence_unchanged(sequence, item, err);
	case ITEM_FILE:
		return sequence_file(sequence, batch, item, err);
	case ITEM_PIECE:
		return sequence_piece(sequence, batch, item, err);
	case ITEM_SKIP:
		progress_add(sequence->progress, 0, item->skip - item->length);
		return large_skip(&sequence->large, item, err);
	case ITEM_SYMLINK:
		return sequence_symlink(sequence, item, err);
	case ITEM_DIRECTORY:
		return sequence_directory(sequence, item, err);
	case ITEM_LINK:
		break;
	}
	return sequence_link(sequence, item, err);
}

int sequence_batch(struct sequence *sequence, const struct batch *batch, struct error *err)
{
	int r;

	for (uint32_t i = 0; i < batch->count; i++) {
		if (i + SEQUENCE_AHEAD < batch->count)
			share_prefetch(&sequence->share, &batch->items[i + SEQUENCE_AHEAD]);
		r = sequence_item(sequence, batch, &batch->items[i], err);
		if (r < 0)
			return r;
	}
	progress_add(sequence->progress, 0, batch->content_used);
	return 0;
}
