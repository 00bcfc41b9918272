/* SPDX-License-Identifier: MIT */
/* Copies each inode that has a name, with its chunk records; inodes that a later entry replaced stay behind. Classes
 * and the blob remain as they are. */
#include "layout/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/program/interrupt.h"
#include "base/round.h"
#include "content/batcher.h"
#include "content/key.h"

/* A position in reorder is ORDER_PLACES times an ordinal, plus ORDER_IS_FILE for a regular file. */
#define ORDER_IS_FILE  UINT64_C(1)
#define ORDER_PLACES   2u
#define ORDER_FILE_MAX (sizeof(struct dsfs_inode) + KEY_CHUNKS * sizeof(struct dsfs_chunk_sha256))

int order_open(struct order *order, struct layout *layout, struct names_writer *names, const struct temp *temp,
	       uint32_t chunk_log, struct error *err)
{
	struct records *to = &layout->records;
	struct layout_counts *counts = &layout->counts;
	int r;

	*order = (struct order){ .from = *to, .to = to, .names = names, .chunk_log = chunk_log, .counts = counts };
	*to = (struct records){ .classes = order->from.classes, .blob = order->from.blob,
				.has_frames = order->from.has_frames, .clamped_times = order->from.clamped_times };
	order->from.classes = (struct classes){ 0 };
	order->from.blob = (struct mapped){ 0 };
	counts->files = counts->directories = counts->symlinks = counts->links = counts->content_bytes = 0;
	r = mapped_open(&to->inodes, temp, err);
	if (r == 0)
		r = mapped_open(&to->chunks, temp, err);
	if (r == 0)
		r = sums_open(&to->sums, temp, chunk_log, order->from.sums.kind, err);
	if (r == 0)
		r = table_open(&order->moved, temp, err);
	if (r == 0)
		r = reorder_open(&order->files, temp, err);
	if (r == 0)
		r = sums_reader_open(&order->sums, &order->from.sums, err);
	order->row = malloc(order->from.sums.row_bytes);
	order->file = malloc(ORDER_FILE_MAX);
	return r < 0 || (order->row && order->file) ? r : error_no_memory(err);
}

void order_close(struct order *order)
{
	sums_reader_close(&order->sums);
	records_close(&order->from);
	reorder_close(&order->files);
	table_close(&order->moved);
	free(order->row);
	free(order->file);
	*order = (struct order){ 0 };
}

/* Appends chunk records and their rows of block checksums. first: their first number in order->from. */
static int order_copy_chunks(struct order *order, const void *records, uint64_t first, uint64_t count,
			     struct error *err)
{
	struct records *to = order->to;
	uint32_t sums = to->sums.kind;
	bool has;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < count; i++) {
		r = interrupt_check(err);
		if (r == 0)
			r = sums_reader_get(&order->sums, first + i, order->row, &has, err);
		if (r == 0 && has)
			r = sums_add(&to->sums, records_chunk_count(to), order->row,
				     order->from.sums.row_bytes, err);
		if (r == 0)
			r = mapped_append(&to->chunks, index_record_in(records, sums, i), index_record_size(sums), NULL,
					  err);
	}
	return r;
}

static uint64_t order_chunks(const struct order *order, uint64_t size)
{
	return round_up(size, UINT64_C(1) << order->chunk_log) >> order->chunk_log;
}

/* Copies the records of a small file, once for all files that share them. Files that share none, which are most, are
 * not remembered. */
static int order_small(struct order *order, const void *records, uint64_t size, uint64_t *where,
		       struct error *err)
{
	uint64_t flags = *where & (DSFS_WHERE_SPARSE | DSFS_WHERE_HOLES), first = *where - flags;
	uint64_t now = records_chunk_count(order->to);
	bool is_shared = records_is_shared(&order->from, first);
	struct table_key key = { first, 1 };
	int r;

	if (!size)
		return 0;
	if (is_shared && table_find(&order->moved, key, &now)) {
		*where = now | flags;
		return 0;
	}
	*where = now | flags;
	r = order_copy_chunks(order, records, first, order_chunks(order, size), err);
	return r < 0 || !is_shared ? r : table_set(&order->moved, key, now, err);
}

/* Copies the records of a large file. With a list of holes, the records of its chunks lie before the list's head. */
static int order_large(struct order *order, uint64_t size, uint64_t *where, struct error *err)
{
	uint64_t flags = *where & (DSFS_WHERE_SPARSE | DSFS_WHERE_HOLES), first = *where - flags;
	uint64_t before = order_chunks(order, size), holes = 0;
	const struct dsfs_hole *hole = (const struct dsfs_hole *)records_chunk(&order->from, first); /* the head */

	if (flags & DSFS_WHERE_HOLES) {
		holes = 1 + dsfs_le64_get(hole->first);
		hole = (const struct dsfs_hole *)records_chunk(&order->from, first + holes - 1);
		before -= dsfs_le32_get(hole->total);
		first -= before;
	}
	*where = (records_chunk_count(order->to) + (holes ? before : 0)) | flags;
	return order_copy_chunks(order, records_chunk(&order->from, first), first, before + holes, err);
}

static int order_put(struct order *order, uint64_t ordinal, const struct dsfs_inode *inode, struct error *err)
{
	int r = mapped_grow(&order->to->inodes, ordinal * sizeof(*inode), err);

	if (r == 0)
		*records_inode(order->to, ordinal) = *inode;
	return r < 0 ? r : interrupt_check(err);
}

/* --- files --- */

static int order_get(void *argument, uint64_t from, uint64_t to, const void **ret, size_t *ret_length,
		     struct error *err)
{
	struct order *order = argument;
	const struct dsfs_inode *inode = records_inode(&order->from, from);
	uint64_t size = dsfs_le64_get(inode->size), where = dsfs_le64_get(inode->where), chunks = 0;
	uint64_t first = where & ~(DSFS_WHERE_SPARSE | DSFS_WHERE_HOLES);

	(void)err;
	if (to & ORDER_IS_FILE && size <= BATCH_BYTES)
		chunks = order_chunks(order, size);
	memcpy(order->file, inode, sizeof(*inode));
	if (chunks)
		memcpy(order->file + sizeof(*inode), records_chunk(&order->from, first),
		       chunks * index_record_size(order->from.sums.kind));
	*ret = order->file;
	*ret_length = sizeof(*inode) + chunks * index_record_size(order->from.sums.kind);
	return 0;
}

static int order_move_content(struct order *order, const void *records, struct dsfs_inode *inode,
			      struct error *err)
{
	uint64_t size = dsfs_le64_get(inode->size), where = dsfs_le64_get(inode->where);
	int r = size > BATCH_BYTES ? order_large(order, size, &where, err) :
				     order_small(order, records, size, &where, err);

	order->counts->content_bytes += size;
	inode->where = dsfs_le64_of(where);
	return r;
}

/* Writes the inode of a file or symlink, and moves the content of a file. The inode may have links already. */
static int order_add_file(struct order *order, uint64_t to, const uint8_t *file, struct error *err)
{
	const uint8_t *records = file + sizeof(struct dsfs_inode);
	uint64_t ordinal = to / ORDER_PLACES;
	struct dsfs_inode inode;
	int r;

	memcpy(&inode, file, sizeof(inode));
	r = to & ORDER_IS_FILE ? order_move_content(order, records, &inode, err) : 0;
	if (r == 0)
		r = mapped_grow(&order->to->inodes, ordinal * sizeof(inode), err);
	if (r < 0)
		return r;
	inode.nlink = dsfs_le32_of(dsfs_le32_get(inode.nlink) +
				   dsfs_le32_get(records_inode(order->to, ordinal)->nlink));
	return order_put(order, ordinal, &inode, err);
}

int order_finish(struct order *order, struct error *err)
{
	const void *file;
	uint64_t to;
	size_t length;
	int r = reorder_fetch(&order->files, order_get, order, err);

	if (r < 0)
		return r;
	while ((r = reorder_next(&order->files, &to, &file, &length, err)) > 0) {
		r = order_add_file(order, to, file, err);
		if (r < 0)
			return r;
	}
	return r;
}

/* --- the scan --- */

/* Counts a hard link in the inode, which may not have been written yet. */
static int order_add_link(struct order *order, const struct scan_entry *entry, struct error *err)
{
	int r = mapped_grow(&order->to->inodes, entry->ordinal * sizeof(struct dsfs_inode), err);
	struct dsfs_inode *inode;

	if (r < 0)
		return r;
	inode = records_inode(order->to, entry->ordinal);
	if (dsfs_le32_get(inode->nlink) >= UINT32_MAX - 1)
		return error_set(err, -EMLINK, "'%s' has too many names", entry->name);
	inode->nlink = dsfs_le32_of(dsfs_le32_get(inode->nlink) + 1);
	order->counts->links++;
	return 0;
}

static int order_mark(void *argument, uint64_t directory, uint32_t number, const struct listing_entry *entry,
		      struct error *err)
{
	return batcher_add_mark(((struct order *)argument)->names, directory, number, entry, err);
}

static int order_directory(void *argument, const struct scan_directory *directory, struct error *err)
{
	struct order *order = argument;
	struct dsfs_inode inode = *records_inode(&order->from, directory->listing->self.inode);

	if (directory->subdirectories > UINT32_MAX - 2)
		return error_set(err, -EMLINK, "'%s' has too many subdirectories", directory->listing->dir->path);
	inode.size = dsfs_le64_of(directory->entries);
	inode.where = dsfs_le64_of(directory->parent);
	inode.nlink = dsfs_le32_of(2 + (uint32_t)directory->subdirectories);
	order->counts->directories++;
	return order_put(order, directory->ordinal, &inode, err);
}

static int order_entry(void *argument, const struct scan_directory *directory, const struct scan_entry *entry,
		       struct error *err)
{
	uint32_t mode = entry->attributes->mode;
	struct order *order = argument;
	bool is_file = S_ISREG(mode);
	int r;

	r = batcher_add_name(order->names, directory->ordinal, entry, err);
	if (r < 0 || S_ISDIR(mode)) /* a directory is added with its entries */
		return r;
	if (entry->is_link)
		return order_add_link(order, entry, err);
	order->counts->files += is_file;
	order->counts->symlinks += !is_file;
	return reorder_ask(&order->files, entry->attributes->inode,
			   entry->ordinal * ORDER_PLACES + (is_file ? ORDER_IS_FILE : 0), err);
}

struct scan_sink order_sink(struct order *order)
{
	return (struct scan_sink){ order_mark, order_directory, order_entry, order };
}
