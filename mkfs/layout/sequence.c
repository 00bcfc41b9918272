/* SPDX-License-Identifier: MIT */
/* Inodes, classes and the choice between sharing and storing, one item after the other. */
#include "layout/sequence.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "content/key.h"
#include "image/chunk.h"
#include "image/inode.h"
#include "layout/large.h"
#include "layout/share.h"
#include "layout/store.h"

#define SEQUENCE_AHEAD 8u /* items between the question for a slot's memory and its use */

static int sequence_open_arrays(struct sequence *sequence, const struct temp *temp, struct error *err)
{
	struct mapped *arrays[] = { &sequence->inodes, &sequence->chunks,  &sequence->classes,	 &sequence->blob,
				    &sequence->memory, &sequence->changes, &sequence->holes.list };
	struct table *tables[] = { &sequence->files, &sequence->pieces, &sequence->class_keys };
	int r = sums_open(&sequence->sums, temp, sequence->chunk_log, err);

	for (size_t i = 0; r == 0 && i < sizeof(arrays) / sizeof(arrays[0]); i++)
		r = mapped_open(arrays[i], temp, err);
	for (size_t i = 0; r == 0 && i < sizeof(tables) / sizeof(tables[0]); i++)
		r = table_open(tables[i], temp, err);
	return r;
}

int sequence_open(struct sequence *sequence, const struct temp *temp, uint32_t chunk_log, struct error *err)
{
	int r;

	*sequence = (struct sequence){ .chunk_log = chunk_log };
	sequence->codec = codec_new();
	sequence->decoded = malloc((size_t)1 << chunk_log);
	sequence->run.bytes = malloc((size_t)SEQUENCE_RUN << chunk_log);
	sequence->run.fine = calloc((size_t)SEQUENCE_RUN << (chunk_log - DSFS_CHUNK_LOG_MIN), sizeof(le64));
	r = sequence->codec && sequence->decoded && sequence->run.bytes && sequence->run.fine ?
		    sequence_open_arrays(sequence, temp, err) :
		    error_set(err, -ENOMEM, "out of memory");
	if (r < 0)
		sequence_close(sequence);
	return r;
}

void sequence_close(struct sequence *sequence)
{
	codec_free(sequence->codec);
	free(sequence->decoded);
	free(sequence->run.bytes);
	free(sequence->run.fine);
	sums_close(&sequence->sums);
	mapped_close(&sequence->inodes);
	mapped_close(&sequence->chunks);
	mapped_close(&sequence->classes);
	mapped_close(&sequence->blob);
	mapped_close(&sequence->memory);
	mapped_close(&sequence->changes);
	mapped_close(&sequence->holes.list);
	table_close(&sequence->files);
	table_close(&sequence->pieces);
	table_close(&sequence->class_keys);
	*sequence = (struct sequence){ 0 };
}

void sequence_end(struct sequence *sequence)
{
	table_close(&sequence->files);
	table_close(&sequence->pieces);
	table_close(&sequence->class_keys);
}

uint64_t sequence_chunk_count(const struct sequence *sequence)
{
	return sequence->chunks.length / sizeof(struct dsfs_chunk);
}

/* --- attribute classes --- */

static struct table_key sequence_class_key(const struct item *item, const struct dsfs_class *class)
{
	struct {
		struct dsfs_class class;
		struct checksum_key xattrs;
	} all;
	struct checksum_key key;

	memset(&all, 0, sizeof(all));
	all.class = *class;
	if (item->xattrs)
		all.xattrs = checksum_128(item->xattrs, item->xattrs_length);
	key = checksum_128(&all, sizeof(all));
	return (struct table_key){ key.low, key.high };
}

/* The class under a key is compared with what is looked for: a key is only a sum. */
static bool sequence_class_is(const struct sequence *sequence, uint64_t number, const struct item *item,
			      const struct dsfs_class *class)
{
	struct dsfs_class found = ((const struct dsfs_class *)sequence->classes.bytes)[number];
	uint64_t xattrs = le64_get(found.xattrs);

	found.xattrs = le64_of(0);
	if (memcmp(&found, class, sizeof(found)) != 0 || !xattrs != !item->xattrs)
		return false;
	return !xattrs || (xattrs - 1 + item->xattrs_length <= sequence->blob.length &&
			   !memcmp(sequence->blob.bytes + xattrs - 1, item->xattrs, item->xattrs_length));
}

static int sequence_class_add(struct sequence *sequence, const struct item *item, struct dsfs_class class,
			      uint64_t *ret, struct error *err)
{
	uint64_t offset, number = sequence->classes.length / sizeof(class);
	int r;

	if (number > UINT32_MAX)
		return error_set(err, -E2BIG, "more than 2^32 sets of attributes");
	if (item->xattrs) {
		r = mapped_append(&sequence->blob, item->xattrs, item->xattrs_length, &offset, err);
		if (r < 0)
			return r;
		class.xattrs = le64_of(offset + 1);
	}
	*ret = number;
	return mapped_append(&sequence->classes, &class, sizeof(class), NULL, err);
}

static int sequence_class(struct sequence *sequence, const struct item *item, uint32_t *ret, struct error *err)
{
	const struct attributes *a = &item->attributes;
	struct dsfs_class class = { .mode = le32_of(a->mode), .uid = le32_of(a->uid), .gid = le32_of(a->gid) };
	struct table_key key = sequence_class_key(item, &class);
	uint64_t number = 0;
	bool known = table_find(&sequence->class_keys, key, &number);
	int r;

	if (!known || !sequence_class_is(sequence, number, item, &class)) {
		r = sequence_class_add(sequence, item, class, &number, err);
		if (r == 0 && !known)
			r = table_add(&sequence->class_keys, key, number, err);
		if (r < 0)
			return r;
	}
	*ret = (uint32_t)number;
	return 0;
}

/* --- inodes --- */

static void sequence_time(struct sequence *sequence, const struct attributes *attributes, struct inode *inode)
{
	inode->mtime = attributes->mtime;
	inode->mtime_nsec = attributes->mtime_nsec;
	if (inode->mtime >= INODE_TIME_MIN && inode->mtime <= INODE_TIME_MAX)
		return;
	inode->mtime = inode->mtime < INODE_TIME_MIN ? INODE_TIME_MIN : INODE_TIME_MAX;
	inode->mtime_nsec = 0;
	sequence->counts.clamped++;
}

static struct dsfs_inode *sequence_inode_at(struct sequence *sequence, uint64_t ordinal)
{
	return (struct dsfs_inode *)sequence->inodes.bytes + (ordinal - 1);
}

/* What --trust-mtime of a later version will look for. */
static int sequence_remember(struct sequence *sequence, const struct item *item, struct error *err)
{
	const struct attributes *attributes = &item->attributes;
	int r;

	if (!sequence->remember)
		return 0;
	if (!sequence->remember_device)
		sequence->remember_device = attributes->device;
	if (sequence->remember_device != attributes->device)
		return 0;
	r = mapped_grow(&sequence->memory, item->ordinal * sizeof(le64), err);
	if (r == 0)
		r = mapped_grow(&sequence->changes, item->ordinal * sizeof(le64), err);
	if (r < 0)
		return r;
	((le64 *)sequence->memory.bytes)[item->ordinal - 1] = le64_of(attributes->inode);
	if (attributes->ctime < sequence->settled)
		((le64 *)sequence->changes.bytes)[item->ordinal - 1] = le64_of(attributes_change(attributes));
	return 0;
}

/* size, where, sparse and nlink are the caller's. */
static int sequence_inode(struct sequence *sequence, const struct item *item, struct inode inode, struct error *err)
{
	uint32_t class;
	int r;

	r = sequence_class(sequence, item, &class, err);
	if (r == 0)
		r = mapped_grow(&sequence->inodes, item->ordinal * sizeof(struct dsfs_inode), err);
	if (r < 0)
		return r;
	sequence_time(sequence, &item->attributes, &inode);
	inode_encode(&inode, class, sequence_inode_at(sequence, item->ordinal));
	return 0;
}

static int sequence_directory(struct sequence *sequence, const struct item *item, struct error *err)
{
	struct inode inode = { .size = item->entries, .where = item->parent };

	if (item->subdirectories > UINT32_MAX - 2)
		return error_set(err, -EMLINK, "'%s' has too many subdirectories", item->dir->path);
	inode.nlink = 2 + (uint32_t)item->subdirectories;
	sequence->counts.directories++;
	return sequence_inode(sequence, item, inode, err);
}

static int sequence_symlink(struct sequence *sequence, const struct item *item, struct error *err)
{
	struct inode inode = { .size = item->length, .nlink = 1 };
	int r;

	r = mapped_append(&sequence->blob, item->content, item->length, &inode.where, err);
	if (r < 0)
		return r;
	sequence->counts.symlinks++;
	return sequence_inode(sequence, item, inode, err);
}

/* One more name: the inode was written before, as batches come in order. */
static int sequence_link(struct sequence *sequence, const struct item *item, struct error *err)
{
	struct dsfs_inode *inode = sequence_inode_at(sequence, item->ordinal);

	if (le32_get(inode->nlink) == UINT32_MAX)
		return error_set(err, -EMLINK, "'%s' has too many names", item->name);
	inode->nlink = le32_of(le32_get(inode->nlink) + 1);
	sequence->counts.links++;
	return 0;
}

/* --- files --- */

static int sequence_file_inode(struct sequence *sequence, const struct item *item, uint64_t where, bool sparse,
			       struct error *err)
{
	struct inode inode = { .size = item->attributes.size, .where = where, .sparse = sparse, .nlink = 1 };
	int r;

	sequence->counts.files++;
	sequence->counts.content_bytes += item->attributes.size;
	progress_add(sequence->progress, 1, 0);
	r = sequence_remember(sequence, item, err);
	return r < 0 ? r : sequence_inode(sequence, item, inode, err);
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

static int sequence_store(struct sequence *sequence, const struct batch *batch, const struct item *item,
			  uint64_t *ret_first, struct error *err)
{
	struct table_key key = { item->key.low, item->key.high };
	uint64_t other;
	int r;

	r = store_file(sequence, batch, item, ret_first, err);
	if (r < 0 || table_find(&sequence->files, key, &other))
		return r;
	return table_add(&sequence->files, key, *ret_first, err);
}

/* The whole file lies on the volume: its records are copied. */
static int sequence_share(struct sequence *sequence, const struct batch *batch, const struct item *item,
			  uint64_t *ret_first, struct error *err)
{
	struct table_key key = { item->key.low, item->key.high };
	uint64_t first = sequence_chunk_count(sequence), other;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < item->chunk_count; i++) {
		const struct batch_chunk *chunk = &batch->chunks[item->first_chunk + i];

		r = store_known(sequence, share_record(sequence, chunk->known), chunk->fine, err);
	}
	if (r == 0 && !table_find(&sequence->files, key, &other))
		r = table_add(&sequence->files, key, first, err);
	if (r == 0)
		*ret_first = first;
	return r;
}

/* On the volume already: in this version, or in an earlier one. */
static int sequence_find(struct sequence *sequence, const struct batch *batch, const struct item *item,
			 uint64_t *ret_first, struct error *err)
{
	int r = share_find_file(sequence, batch, item, ret_first, err);

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
	struct dsfs_inode *inode;
	bool done;
	int r;

	sequence_learn(sequence, batch, item);
	r = large_piece(sequence, batch, item, &done, err);
	if (r == 0 && item->offset == 0)
		r = sequence_file_inode(sequence, item, sequence->large_first, false, err);
	if (r < 0 || !done)
		return r;
	inode = sequence_inode_at(sequence, item->ordinal);
	inode->where = le64_of(sequence->large_where | (sequence->large_sparse ? DSFS_WHERE_SPARSE : 0));
	return 0;
}

/* The records of an unchanged file that were copied for another one with the same content; false when there are none. */
static bool sequence_find_copies(struct sequence *sequence, struct table_key key, const struct dsfs_chunk *records,
				 uint64_t count, uint64_t *ret_first)
{
	uint64_t first;

	if (!table_find(&sequence->files, key, &first) || first + count > sequence_chunk_count(sequence) ||
	    memcmp(share_record(sequence, first), records, count * sizeof(*records)) != 0)
		return false;
	*ret_first = first;
	return true;
}

/* The fine sums of a chunk that nobody reads are those of the trusted version: none when it has none. */
static int sequence_copy_chunk(struct sequence *sequence, uint64_t number, struct error *err)
{
	const struct index *index = &sequence->trust->earlier.index;
	const struct dsfs_chunk *record = (const struct dsfs_chunk *)index->chunks.base + number;
	const le64 *fine = NULL;
	struct error why = { 0 };

	if (sequence->rows && fine_view_row(sequence->rows, number, &fine, &why) < 0 && !sequence->rows_missed) {
		log_warn("unread files go without some of their fine sums: %s, ignoring", why.reason);
		sequence->rows_missed = true;
	}
	return store_known(sequence, record, fine, err);
}

static int sequence_copy(struct sequence *sequence, const struct inode *inode, uint64_t *ret_where, struct error *err)
{
	const struct index *index = &sequence->trust->earlier.index;
	uint64_t run;
	struct chunk chunk;
	int r;

	holes_begin(sequence);
	for (uint64_t i = 0; i < inode_chunk_count(index, inode); i += run) {
		r = chunk_get_run(index, inode, i, &chunk, &run, err);
		if (r == 0 && chunk_is_inline(&chunk))
			r = error_set(err, -EBADMSG, "inode %" PRIu64 " of the trusted version has a chunk in its index",
				      inode->ordinal);
		if (r < 0)
			return r;
		if (chunk_is_hole(&chunk)) {
			holes_add(sequence, run);
			continue;
		}
		r = holes_flush(sequence, err);
		if (r == 0)
			r = sequence_copy_chunk(sequence, chunk.number, err);
		if (r < 0)
			return r;
	}
	return holes_end(sequence, ret_where, err);
}

/* A small file goes into the table of files, as if it had been read. */
static int sequence_copy_small(struct sequence *sequence, const struct item *item, const struct inode *inode,
			       uint64_t *ret_first, struct error *err)
{
	const struct index *index = &sequence->trust->earlier.index;
	const struct dsfs_chunk *records = (const struct dsfs_chunk *)index->chunks.base + inode->where;
	uint64_t count = inode_chunk_count(index, inode), other;
	struct table_key key = { item->key.low, item->key.high };
	int r;

	if (sequence_find_copies(sequence, key, records, count, ret_first))
		return 0;
	r = sequence_copy(sequence, inode, ret_first, err);
	if (r == 0 && !table_find(&sequence->files, key, &other))
		r = table_add(&sequence->files, key, *ret_first, err);
	return r;
}

/* Only files that are said to have holes are looked at: most have none. */
static uint64_t sequence_unchanged_holes(const struct index *index, const struct inode *inode)
{
	uint64_t bytes = 0, run = 1;
	struct chunk chunk;

	for (uint64_t i = 0; inode->sparse && i < inode_chunk_count(index, inode); i += run)
		if (chunk_get_run(index, inode, i, &chunk, &run, NULL) == 0 && chunk_is_hole(&chunk))
			bytes += chunk_run_bytes(index, inode, i, run);
	return bytes;
}

static int sequence_unchanged(struct sequence *sequence, const struct item *item, struct error *err)
{
	const struct index *index = &sequence->trust->earlier.index;
	uint64_t where = 0, holes;
	struct inode inode;
	int r;

	r = inode_get(index, item->earlier, &inode, err);
	if (r == 0 && inode.size <= BATCH_BYTES)
		r = sequence_copy_small(sequence, item, &inode, &where, err);
	else if (r == 0)
		r = sequence_copy(sequence, &inode, &where, err);
	if (r < 0)
		return r;
	holes = sequence_unchanged_holes(index, &inode);
	sequence->counts.unchanged++;
	sequence->counts.shared_bytes += inode.size - holes;
	sequence->counts.hole_bytes += holes;
	return sequence_file_inode(sequence, item, where, inode.sparse, err);
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
		return large_skip(sequence, item, err);
	case ITEM_SYMLINK:
		return sequence_symlink(sequence, item, err);
	case ITEM_DIRECTORY:
		return sequence_directory(sequence, item, err);
	case ITEM_LINK:
		break;
	}
	return sequence_link(sequence, item, err);
}

/* Only files of at most BATCH_BYTES have a key; for others nothing is lost. */
static void sequence_prefetch(const struct sequence *sequence, const struct item *item)
{
	table_prefetch(&sequence->files, (struct table_key){ item->key.low, item->key.high });
}

int sequence_batch(struct sequence *sequence, const struct batch *batch, struct error *err)
{
	int r;

	for (uint32_t i = 0; i < batch->count; i++) {
		if (i + SEQUENCE_AHEAD < batch->count)
			sequence_prefetch(sequence, &batch->items[i + SEQUENCE_AHEAD]);
		r = sequence_item(sequence, batch, &batch->items[i], err);
		if (r < 0)
			return r;
	}
	progress_add(sequence->progress, 0, batch->content_used);
	return 0;
}
