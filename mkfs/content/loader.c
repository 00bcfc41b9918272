/* SPDX-License-Identifier: MIT */
/* Turns entries of the stream into items of batches. Parts of a file that an archive leaves out are holes. */
#include "content/loader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/round.h"

#define LOADER_WARNINGS 10u

static int loader_add(struct loader *loader, struct dirfd *dir, size_t content, struct item **ret, struct error *err)
{
	const struct span name = span_of(loader->name, strnlen(loader->name, DSFS_NAME_MAX));
	struct item *item;
	int r = feed_add(&loader->feed, dir, name, content, &item, err);

	if (r < 0)
		return r;
	item->is_loaded = true;
	item->ordinal = loader->number;
	item->attributes = loader->attributes;
	item->result.xattrs = take_ptr(&loader->xattrs);
	item->result.xattrs_length = item->result.xattrs ? loader->xattrs_length : 0;
	*ret = item;
	return 0;
}

/* Returns the path of the directory of the entry. The caller frees it; NULL: out of memory. */
static char *loader_parent(const struct loader *loader)
{
	const char *path = tar_tree_path(loader->tree);

	return loader->name > path ? strndup(path, (size_t)(loader->name - path) - 1) : strdup("");
}

/* Adds an item with its own directory, so that an error of the layout can name its path: the size of a hole comes from
 * the archive. */
static int loader_add_named(struct loader *loader, struct item **ret, struct error *err)
{
	auto_free char *parent = loader_parent(loader);
	struct dirfd *dir = parent ? dirfd_name(parent) : NULL;
	int r = dir ? loader_add(loader, dir, 0, ret, err) : error_no_memory(err);

	dirfd_release(dir);
	return r;
}

static uint64_t loader_piece_end(const struct loader *loader)
{
	return loader->piece->offset + loader->piece->length;
}

/* Makes the piece at the position the current one; adds it if it is new. */
static int loader_begin_piece(struct loader *loader, struct error *err)
{
	uint64_t left = loader->attributes.size - loader->position;
	struct item *item;
	int r;

	if (loader->piece && loader->position < loader_piece_end(loader))
		return 0;
	r = loader_add(loader, loader->dir, left < BATCH_BYTES ? left : BATCH_BYTES, &item, err);
	if (r < 0)
		return r;
	item->kind = loader->attributes.size <= BATCH_BYTES ? ITEM_FILE : ITEM_PIECE;
	item->offset = loader->position;
	feed_choose(&loader->feed, item);
	loader->piece = item;
	return 0;
}

/* Leaves out whole pieces of a hole that begins with a piece, but never the first and the last piece of a file. */
static int loader_skip(struct loader *loader, uint64_t end, bool *ret_skipped, struct error *err)
{
	uint64_t last = round_down(loader->attributes.size - 1, BATCH_BYTES);
	uint64_t skip = round_down(end < last ? end : last, BATCH_BYTES);
	struct item *item = NULL;
	int r;

	*ret_skipped = loader->position && loader->position % BATCH_BYTES == 0 && skip > loader->position;
	if (!*ret_skipped)
		return 0;
	r = loader_add_named(loader, &item, err);
	if (r < 0)
		return r;
	item->kind = ITEM_SKIP;
	item->offset = loader->position;
	item->skip = skip - loader->position;
	loader->position = skip;
	loader->piece = NULL;
	return 0;
}

/* Returns room in the piece at the position for bytes up to end, and moves the position past them. */
static int loader_room(struct loader *loader, uint64_t end, uint8_t **ret, uint64_t *ret_room, struct error *err)
{
	int r = loader_begin_piece(loader, err);

	if (r < 0)
		return r;
	*ret = loader->piece->content + (loader->position - loader->piece->offset);
	*ret_room = (end < loader_piece_end(loader) ? end : loader_piece_end(loader)) - loader->position;
	loader->position += *ret_room;
	return 0;
}

/* Fills the file with a hole from the position to end. */
static int loader_fill(struct loader *loader, uint64_t end, struct error *err)
{
	uint64_t room;
	bool skipped;
	uint8_t *to;
	int r = 0;

	while (r == 0 && loader->position < end) {
		r = loader_skip(loader, end, &skipped, err);
		if (r < 0 || skipped)
			continue;
		r = loader_room(loader, end, &to, &room, err);
		if (r == 0)
			memset(to, 0, room);
	}
	return r;
}

static int loader_data(struct loader *loader, struct error *err)
{
	uint64_t end = loader->stream->offset + loader->stream->content_left, room;
	uint8_t *to;
	int r;

	if (!loader->number)
		return 0;
	r = loader_fill(loader, loader->stream->offset, err);
	while (r == 0 && loader->position < end) {
		r = loader_room(loader, end, &to, &room, err);
		if (r == 0)
			r = tar_stream_content(loader->stream, to, room, err);
	}
	return r;
}

/* Completes the current file: its content ends with a hole if the archive has no more. */
static int loader_finish(struct loader *loader, struct error *err)
{
	int r = loader->number ? loader_fill(loader, loader->attributes.size, err) : 0;

	loader->number = 0;
	loader->piece = NULL;
	free(take_ptr(&loader->xattrs));
	return r;
}

static int loader_add_symlink(struct loader *loader, const char *target, struct error *err)
{
	auto_free char *parent = loader_parent(loader);
	size_t length = strlen(target);
	struct item *item;
	int r;

	if (!parent)
		return error_no_memory(err);
	outward_look(&loader->outward, parent, loader->name, target);
	if (!length || length > DSFS_LINK_MAX)
		return error_set(err, -ENAMETOOLONG, "'%s': the symlink's target is empty or too long",
				 tar_tree_path(loader->tree));
	r = loader_add(loader, loader->dir, length, &item, err);
	if (r < 0)
		return r;
	item->kind = ITEM_SYMLINK;
	memcpy(item->content, target, length);
	return 0;
}

static int loader_add_directory(struct loader *loader, struct error *err)
{
	struct item *item;
	int r = loader_add(loader, loader->dir, 0, &item, err);

	if (r == 0)
		item->kind = ITEM_DIRECTORY;
	return r;
}

/* Begins a new inode. The content of a file follows in later messages. */
static int loader_begin(struct loader *loader, const struct tar_stream_entry *entry, struct error *err)
{
	const char *path = tar_tree_path(loader->tree), *slash = strrchr(path, '/');
	int r = 0;

	loader->attributes = tar_tree_attributes(loader->tree, loader->number);
	loader->name = slash ? slash + 1 : path;
	loader->position = 0;
	if (entry->xattrs) {
		loader->xattrs = malloc(entry->xattrs_length);
		if (!loader->xattrs)
			return error_no_memory(err);
		memcpy(loader->xattrs, entry->xattrs, entry->xattrs_length);
		loader->xattrs_length = entry->xattrs_length;
	}
	if (S_ISREG(loader->attributes.mode))
		return loader->attributes.size ? 0 : loader_begin_piece(loader, err);
	r = S_ISDIR(loader->attributes.mode) ? loader_add_directory(loader, err) :
					       loader_add_symlink(loader, entry->link, err);
	loader->number = 0;
	return r;
}

static int loader_entry(struct loader *loader, struct error *err)
{
	int r = loader_finish(loader, err);

	if (r == 0)
		r = tar_tree_add(loader->tree, &loader->stream->entry, &loader->number, err);
	if (r < 0)
		return r;
	if (!loader->feed.pipeline)
		loader->number = 0;
	return loader->number ? loader_begin(loader, &loader->stream->entry, err) : 0;
}

/* Adds the inode that all folders without an entry of their own share; it comes first. */
static int loader_implied(struct loader *loader, struct error *err)
{
	int r;

	if (!loader->feed.pipeline)
		return 0;
	loader->dir = dirfd_name("");
	if (!loader->dir)
		return error_no_memory(err);
	loader->number = TAR_TREE_IMPLIED;
	loader->name = "";
	loader->attributes = tar_tree_attributes(loader->tree, TAR_TREE_IMPLIED);
	r = loader_add_directory(loader, err);
	loader->number = 0;
	return r;
}

int loader_run(struct loader *loader, struct error *err)
{
	enum tar_stream_kind kind;
	int r = loader_implied(loader, err);

	while (r == 0) {
		r = tar_stream_next(loader->stream, &kind, err);
		if (r <= 0)
			break;
		r = 0;
		if (kind == TAR_STREAM_ENTRY)
			r = loader_entry(loader, err);
		else if (kind == TAR_STREAM_DATA)
			r = loader_data(loader, err);
		else if (loader->warnings++ < LOADER_WARNINGS)
			log_warn("%s, ignoring", loader->stream->text);
	}
	if (r == 0)
		r = loader_finish(loader, err);
	if (r == 0 && loader->warnings > LOADER_WARNINGS)
		log_warn("%u warnings about archives in all, ignoring", loader->warnings);
	return r;
}

void loader_close(struct loader *loader)
{
	dirfd_release(loader->dir);
	free(loader->xattrs);
	*loader = (struct loader){ 0 };
}
