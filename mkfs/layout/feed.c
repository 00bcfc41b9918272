/* SPDX-License-Identifier: MIT */
/* From the scan to the pipeline. */
#include "layout/feed.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "content/reader.h"
#include "image/names.h"

/* Smaller files have no hole that would be skipped. */
#define FEED_SKIP_FROM ((PIPELINE_DEPTH + 2) * (uint64_t)BATCH_BYTES)

/* The names grow in a file of LMDB's; the reader of the message knows only the directory. */
static int feed_name_failed(int r, struct error *err)
{
	if (r == -ENOSPC)
		return error_set(err, r, "temporary files (see --temp-dir): No space left on device");
	return r;
}

static int feed_mark(void *argument, uint64_t directory, uint32_t number, const struct listing_entry *entry,
		     struct error *err)
{
	struct feed *feed = argument;

	return feed_name_failed(
		names_writer_mark(feed->names, directory, number, entry->name, entry->name_length, err), err);
}

/* A new item, in the next batch when this one has no room for it. */
static int feed_item(struct feed *feed, struct dirfd *dir, const char *name, size_t name_length, size_t content,
		     struct item **ret, struct error *err)
{
	int r;

	*ret = feed->batch ? batch_add(feed->batch, dir, name, name_length, content) : NULL;
	if (*ret)
		return 0;
	feed_flush(feed);
	r = pipeline_begin(feed->pipeline, &feed->batch, err);
	if (r < 0)
		return r;
	*ret = batch_add(feed->batch, dir, name, name_length, content);
	return *ret ? 0 : error_set(err, -E2BIG, "an item of %zu bytes does not fit into a batch", content);
}

static int feed_directory(void *argument, const struct scan_directory *directory, struct error *err)
{
	struct item *item;
	int r;

	r = feed_item(argument, directory->listing->dir, "", 0, 0, &item, err);
	if (r < 0)
		return r;
	item->kind = ITEM_DIRECTORY;
	item->ordinal = directory->ordinal;
	item->parent = directory->parent;
	item->entries = directory->entries;
	item->subdirectories = directory->subdirectories;
	item->attributes = directory->listing->self;
	return 0;
}

/* Inode numbers tell files apart within one filesystem: that of the first file. */
static bool feed_is_unchanged(struct feed *feed, const struct attributes *attributes, struct inode *ret)
{
	if (!feed->trust_device)
		feed->trust_device = attributes->device;
	if (!feed->trust || !attributes->size || attributes->device != feed->trust_device ||
	    !trust_find(feed->trust, attributes, feed->trust_next, ret))
		return false;
	feed->trust_next = ret->ordinal + 1;
	return true;
}

/* Nothing is read; content that lies in the index is copied. */
static int feed_unchanged(struct feed *feed, struct dirfd *dir, const struct scan_entry *entry,
			  const struct inode *inode, struct error *err)
{
	bool is_inline = trust_inline_bytes(feed->trust, inode) != NULL;
	struct item *item;
	int r;

	r = feed_item(feed, dir, entry->name, entry->name_length, is_inline ? inode->size : 0, &item, err);
	if (r < 0)
		return r;
	item->kind = is_inline ? ITEM_FILE : ITEM_UNCHANGED;
	item->ordinal = entry->ordinal;
	item->attributes = *entry->attributes;
	item->earlier = inode->ordinal;
	if (inode->size <= BATCH_BYTES)
		item->key = trust_key_of_file(feed->trust, inode);
	return 0;
}

/* A file whose holes are looked for, and the last one found. */
struct feed_holes {
	int fd; /* -1: they are not */
	uint64_t size;
	uint64_t start, end; /* a hole from a piece's start on; end is 0 or where data begins */
};

static struct feed_holes feed_open_holes(struct dirfd *dir, const struct scan_entry *entry)
{
	const struct item item = { .dir = dir, .name = (char *)entry->name, .attributes = *entry->attributes };
	struct feed_holes holes = { .fd = -1, .size = entry->attributes->size };

	if (entry->attributes->has_holes && holes.size > FEED_SKIP_FROM)
		(void)!reader_open(&item, &holes.fd, NULL); /* whoever reads it says why not */
	return holes;
}

/* Bytes from the piece at on that are a hole and need no pieces of their own. So many pieces of a hole come as always that
 * batches behind it know of all before it, as they would with all of them. The last piece of a file is never skipped. */
static uint64_t feed_skip(struct feed_holes *holes, uint64_t at)
{
	uint64_t last = (holes->size - 1) / BATCH_BYTES * BATCH_BYTES, end;
	off_t data;

	if (holes->fd < 0 || at >= last)
		return 0;
	if (at >= holes->end) {
		data = lseek(holes->fd, (off_t)at, SEEK_DATA);
		if (data < 0 && errno != ENXIO)
			return 0;
		holes->start = at;
		holes->end = data < 0 || (uint64_t)data > last ? last : (uint64_t)data;
	}
	end = holes->end / BATCH_BYTES * BATCH_BYTES;
	return at - holes->start >= PIPELINE_DEPTH * BATCH_BYTES && end > at ? end - at : 0;
}

static int feed_piece(struct feed *feed, struct dirfd *dir, const struct scan_entry *entry, uint64_t at, uint64_t skip,
		      struct error *err)
{
	uint64_t size = entry->attributes->size, length = size - at < BATCH_BYTES ? size - at : BATCH_BYTES;
	uint16_t kind = kinds_of(entry->name, entry->name_length);
	struct item *item;
	int r;

	r = feed_item(feed, dir, entry->name, entry->name_length, length, &item, err);
	if (r < 0)
		return r;
	item->kind = size <= BATCH_BYTES ? ITEM_FILE : skip ? ITEM_SKIP : ITEM_PIECE;
	item->ordinal = entry->ordinal;
	item->offset = at;
	item->skip = skip;
	item->attributes = *entry->attributes;
	item->file_kind = kind;
	item->compress = feed->options->compress == PACK_ZSTD ||
			 (feed->options->compress == PACK_AUTO && kinds_wants(feed->kinds, kind, feed->batch->number));
	return 0;
}

/* One item, or one for each piece of a large file. */
static int feed_file(struct feed *feed, struct dirfd *dir, const struct scan_entry *entry, struct error *err)
{
	uint64_t size = entry->attributes->size, at = 0, skip;
	struct feed_holes holes;
	struct inode inode;
	int r;

	if (feed_is_unchanged(feed, entry->attributes, &inode))
		return feed_unchanged(feed, dir, entry, &inode, err);
	holes = feed_open_holes(dir, entry);
	do {
		skip = feed_skip(&holes, at);
		r = feed_piece(feed, dir, entry, at, skip, err);
		at += skip ? skip : BATCH_BYTES;
	} while (r == 0 && at < size);
	close_fd(&holes.fd);
	return r;
}

/* Room for the target and one byte more, which shows whether it grew. */
static int feed_other(struct feed *feed, struct dirfd *dir, const struct scan_entry *entry, struct error *err)
{
	uint64_t size = entry->attributes->size;
	size_t room = entry->is_link ? 0 : size && size <= DSFS_LINK_MAX ? size + 1 : DSFS_LINK_MAX + 2;
	struct item *item;
	int r;

	r = feed_item(feed, dir, entry->name, entry->name_length, room, &item, err);
	if (r < 0)
		return r;
	item->kind = entry->is_link ? ITEM_LINK : ITEM_SYMLINK;
	item->ordinal = entry->ordinal;
	item->attributes = *entry->attributes;
	return 0;
}

static int feed_entry(void *argument, const struct scan_directory *directory, const struct scan_entry *entry,
		      struct error *err)
{
	struct dirfd *dir = directory->listing->dir;
	uint32_t mode = entry->attributes->mode;
	struct feed *feed = argument;
	int r;

	r = feed_name_failed(names_writer_add(feed->names, directory->ordinal, entry->name, entry->name_length,
					      entry->ordinal, (uint8_t)IFTODT(mode), err),
			     err);
	if (r < 0 || S_ISDIR(mode)) /* a directory comes again, with its entries */
		return r;
	if (S_ISREG(mode) && !entry->is_link)
		return feed_file(feed, dir, entry, err);
	return feed_other(feed, dir, entry, err);
}

struct scan_sink feed_sink(struct feed *feed)
{
	return (struct scan_sink){ feed_mark, feed_directory, feed_entry, feed };
}

void feed_flush(struct feed *feed)
{
	if (feed->batch)
		pipeline_submit(feed->pipeline, feed->batch);
	feed->batch = NULL;
}
