/* SPDX-License-Identifier: MIT */
/* Turns entries of the scan into items of batches. */
#include "content/batcher.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/round.h"
#include "content/ingest.h"
#include "image/names/names.h"

/* Holes are skipped only in files larger than this. */
#define BATCHER_SKIP_FROM ((PIPELINE_DEPTH + 2) * (uint64_t)BATCH_BYTES)

/* Explains a full disk: LMDB writes names to a temporary file, and the user knows only its directory. */
static int batcher_name_failed(int r, struct error *err)
{
	if (r == -ENOSPC)
		return error_set(err, r, "temporary files (see --temp-dir): No space left on device");
	return r;
}

int batcher_add_mark(struct names_writer *names, uint64_t directory, uint32_t number,
		     const struct listing_entry *entry, struct error *err)
{
	const struct span name = span_of(entry->name, entry->name_length);

	return batcher_name_failed(names_writer_mark(names, directory, number, name, err), err);
}

static struct span batcher_name(const struct scan_entry *entry)
{
	return span_of(entry->name, entry->name_length);
}

int batcher_add_name(struct names_writer *names, uint64_t directory, const struct scan_entry *entry,
		     struct error *err)
{
	uint8_t type = (uint8_t)IFTODT(entry->attributes->mode);
	int r = names_writer_add(names, directory, batcher_name(entry), entry->ordinal, type, err);

	return batcher_name_failed(r, err);
}

static int batcher_mark(void *argument, uint64_t directory, uint32_t number, const struct listing_entry *entry,
			struct error *err)
{
	return batcher_add_mark(((struct batcher *)argument)->names, directory, number, entry, err);
}

static int batcher_directory(void *argument, const struct scan_directory *directory, struct error *err)
{
	struct batcher *batcher = argument;
	struct item *item;
	int r;

	r = feed_add(&batcher->feed, directory->listing->dir, span_text(""), 0, &item, err);
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

/* Looks at the filesystem of the first file: that of its directory, unless something is mounted on the file. */
static void batcher_find_filesystem(struct batcher *batcher, struct dirfd *dir, const struct scan_entry *entry)
{
	const struct item item = { .dir = dir, .name = (char *)entry->name, .attributes = *entry->attributes };
	uint64_t device = entry->attributes->device;
	struct attributes above;
	auto_close int fd = -1;

	if (attributes_read(dir->fd, "", &above) < 0 || above.device != device)
		(void)!ingest_open(&item, &fd, NULL); /* ingest_work() reports the error */
	filesystem_find(fd < 0 ? dir->fd : fd, device, &batcher->filesystem);
	batcher->doubt = stat_cache_doubts(batcher->stat_cache, &batcher->filesystem);
}

/* Returns whether the ctime is the time of the last change. Inode numbers are unique only within a filesystem. */
static bool batcher_trusts(const struct batcher *batcher, const struct attributes *attributes)
{
	const struct filesystem *filesystem = &batcher->filesystem;

	return batcher->stat_cache && batcher->doubt == STAT_CACHE_TRUSTED &&
	       attributes->device == filesystem->device && (attributes->ctime_nsec || !filesystem->has_fine_ctimes);
}

static bool batcher_is_unchanged(struct batcher *batcher, const struct attributes *attributes, struct inode *ret)
{
	if (!batcher_trusts(batcher, attributes) || !attributes->size ||
	    !stat_cache_find(batcher->stat_cache, attributes, batcher->next_ordinal, ret))
		return false;
	batcher->next_ordinal = ret->ordinal + 1;
	return true;
}

/* Adds an item for a file that is not read. Content that lies in the index is copied. */
static int batcher_add_unchanged(struct batcher *batcher, struct dirfd *dir, const struct scan_entry *entry,
				 const struct inode *inode, struct error *err)
{
	bool is_inline = stat_cache_inline_bytes(batcher->stat_cache, inode) != NULL;
	struct item *item;
	int r;

	r = feed_add(&batcher->feed, dir, batcher_name(entry), is_inline ? inode->size : 0, &item, err);
	if (r < 0)
		return r;
	item->kind = is_inline ? ITEM_FILE : ITEM_UNCHANGED;
	item->ordinal = entry->ordinal;
	item->attributes = *entry->attributes;
	item->previous_ordinal = inode->ordinal;
	if (inode->size <= BATCH_BYTES)
		item->result.key = stat_cache_key_of_file(batcher->stat_cache, inode);
	return 0;
}

/* A file whose holes may be skipped, and the last hole found. */
struct batcher_holes {
	int fd; /* -1: no hole is skipped */
	uint64_t size;
	uint64_t start, end; /* a hole that begins with a piece; end is 0, or the offset where data begins */
};

static struct batcher_holes batcher_open_holes(struct dirfd *dir, const struct scan_entry *entry)
{
	const struct item item = { .dir = dir, .name = (char *)entry->name, .attributes = *entry->attributes };
	struct batcher_holes holes = { .fd = -1, .size = entry->attributes->size };

	if (entry->attributes->has_holes && holes.size > BATCHER_SKIP_FROM)
		(void)!ingest_open(&item, &holes.fd, NULL); /* ingest_work() reports the error */
	return holes;
}

/* Returns how many bytes of a hole to skip at this piece. The first PIPELINE_DEPTH pieces of a hole are never skipped,
 * so a batch after the hole knows everything about the batches before it, just as if no piece had been skipped. The
 * last piece of a file is not skipped either. */
static uint64_t batcher_skip(struct batcher_holes *holes, uint64_t at)
{
	uint64_t last = round_down(holes->size - 1, BATCH_BYTES), end;
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
	end = round_down(holes->end, BATCH_BYTES);
	return at - holes->start >= PIPELINE_DEPTH * BATCH_BYTES && end > at ? end - at : 0;
}

static int batcher_add_piece(struct batcher *batcher, struct dirfd *dir, const struct scan_entry *entry, uint64_t at,
			     uint64_t skip, struct error *err)
{
	uint64_t size = entry->attributes->size, length = size - at < BATCH_BYTES ? size - at : BATCH_BYTES;
	struct item *item;
	int r;

	r = feed_add(&batcher->feed, dir, batcher_name(entry), length, &item, err);
	if (r < 0)
		return r;
	item->kind = size <= BATCH_BYTES ? ITEM_FILE : skip ? ITEM_SKIP : ITEM_PIECE;
	item->ordinal = entry->ordinal;
	item->offset = at;
	item->skip = skip;
	item->attributes = *entry->attributes;
	feed_choose(&batcher->feed, item);
	return 0;
}

/* Adds one item for the file, or one for each piece of a large file. */
static int batcher_add_file(struct batcher *batcher, struct dirfd *dir, const struct scan_entry *entry,
			    struct error *err)
{
	uint64_t size = entry->attributes->size, at = 0, skip;
	struct batcher_holes holes;
	struct inode inode;
	int r;

	if (!batcher->filesystem.device)
		batcher_find_filesystem(batcher, dir, entry);
	if (batcher_is_unchanged(batcher, entry->attributes, &inode))
		return batcher_add_unchanged(batcher, dir, entry, &inode, err);
	holes = batcher_open_holes(dir, entry);
	do {
		skip = batcher_skip(&holes, at);
		r = batcher_add_piece(batcher, dir, entry, at, skip, err);
		at += skip ? skip : BATCH_BYTES;
	} while (r == 0 && at < size);
	close_fd(&holes.fd);
	return r;
}

/* Adds a symlink or a hard link. A symlink gets room for one byte more than its target, to show whether it grew. */
static int batcher_add_other(struct batcher *batcher, struct dirfd *dir, const struct scan_entry *entry,
			     struct error *err)
{
	uint64_t size = entry->attributes->size;
	size_t room = entry->is_link ? 0 : size && size <= DSFS_LINK_MAX ? size + 1 : DSFS_LINK_MAX + 2;
	struct item *item;
	int r;

	r = feed_add(&batcher->feed, dir, batcher_name(entry), room, &item, err);
	if (r < 0)
		return r;
	item->kind = entry->is_link ? ITEM_LINK : ITEM_SYMLINK;
	item->ordinal = entry->ordinal;
	item->attributes = *entry->attributes;
	return 0;
}

static int batcher_entry(void *argument, const struct scan_directory *directory, const struct scan_entry *entry,
			 struct error *err)
{
	struct dirfd *dir = directory->listing->dir;
	uint32_t mode = entry->attributes->mode;
	struct batcher *batcher = argument;
	int r;

	r = batcher_add_name(batcher->names, directory->ordinal, entry, err);
	if (r < 0 || S_ISDIR(mode)) /* a directory is added with its entries */
		return r;
	if (S_ISREG(mode) && !entry->is_link)
		return batcher_add_file(batcher, dir, entry, err);
	return batcher_add_other(batcher, dir, entry, err);
}

struct scan_sink batcher_sink(struct batcher *batcher)
{
	return (struct scan_sink){ batcher_mark, batcher_directory, batcher_entry, batcher };
}
