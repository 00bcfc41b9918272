/* SPDX-License-Identifier: MIT */
/* Walks each directory completely before its next sibling, and lists the names of a directory a few at a time. */
#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "image/inode.h"
#include "image/names/names.h"

#define WALK_AHEAD 64u /* names that are listed at a time */

struct walk_level {
	uint64_t directory;
	uint64_t next;      /* number of the next entry to list */
	size_t path_length; /* of the directory's own path, 0 of the root's */
	bool is_listed;     /* to its end */
};

struct walk_ahead {
	uint64_t ordinal;
	uint8_t type, length;
	char name[DSFS_NAME_MAX];
};

struct walk {
	struct names *names;
	struct walk_level *levels;
	size_t depth, room;
	char *path;
	size_t path_room;
	bool has_begun;
	unsigned count, at; /* entries listed from the last level; only the last one can be a directory */
	struct walk_ahead ahead[WALK_AHEAD];
};

static int walk_push(struct walk *walk, uint64_t directory, size_t path_length, struct error *err)
{
	int r = grow(walk->levels, walk->room, walk->depth + 1, err);

	if (r == 0)
		walk->levels[walk->depth++] = (struct walk_level){ directory, 0, path_length, false };
	return r;
}

int walk_find(const struct names *names, const char *path, uint64_t *ret_ordinal, struct error *err)
{
	uint64_t ordinal = INODE_ROOT;
	size_t length;
	int r;

	for (; *path; path += length) {
		path += strspn(path, "/");
		length = strcspn(path, "/");
		if (length == 0)
			break;
		r = names_lookup(names, ordinal, path, length, &ordinal);
		if (r == -ENOENT)
			return error_set(err, r, "there is no '%.*s' in the version", (int)length, path);
		if (r < 0)
			return error_set(err, r, "the names cannot be read: %s", strerror(-r));
	}
	*ret_ordinal = ordinal;
	return 0;
}

/* Stores "train//cat/" as /train/cat, and "/" as "", because each further name is added with a slash. */
static int walk_keep_path(struct walk *walk, const char *path, size_t *ret_length, struct error *err)
{
	size_t used = 0, length;
	int r = grow(walk->path, walk->path_room, strlen(path) + 1, err);

	for (; r == 0 && *path; path += length) {
		path += strspn(path, "/");
		length = strcspn(path, "/");
		if (length == 0)
			break;
		walk->path[used] = '/';
		memcpy(walk->path + used + 1, path, length);
		used += 1 + length;
	}
	*ret_length = used;
	return r;
}

static int walk_begin(struct walk *walk, const struct index *index, const char *below, struct error *err)
{
	struct inode inode;
	uint64_t ordinal;
	size_t length;
	int r = walk_find(walk->names, below, &ordinal, err);

	if (r == 0)
		r = inode_get(index, ordinal, &inode, err);
	if (r == 0 && !S_ISDIR(inode.mode))
		r = error_set(err, -ENOTDIR, "'%s' is no directory", below);
	if (r == 0)
		r = walk_keep_path(walk, below, &length, err);
	return r < 0 ? r : walk_push(walk, ordinal, length, err);
}

int walk_open(const struct index *index, const char *below, struct walk **ret, struct error *err)
{
	auto_walk struct walk *walk = calloc(1, sizeof(*walk));
	int r;

	if (!walk)
		return error_no_memory(err);
	walk->names = index->names;
	r = walk_begin(walk, index, below ? below : "/", err);
	if (r < 0)
		return r;
	*ret = take_ptr(&walk);
	return 0;
}

void walk_close(struct walk *walk)
{
	if (!walk)
		return;
	free(walk->levels);
	free(walk->path);
	free(walk);
}

/* Adds an entry to the list. A directory ends the list: its contents come before its siblings, which follow later. */
static int walk_list_entry(void *argument, const struct names_entry *entry)
{
	struct walk *walk = argument;
	struct walk_ahead *ahead = &walk->ahead[walk->count++];

	ahead->ordinal = entry->ordinal;
	ahead->type = entry->type;
	ahead->length = entry->name_length;
	memcpy(ahead->name, entry->name, entry->name_length);
	walk->levels[walk->depth - 1].next = entry->number + 1;
	return entry->type == DT_DIR || walk->count == WALK_AHEAD;
}

/* Leaves finished directories until one has more names. */
static int walk_list(struct walk *walk, struct error *err)
{
	walk->count = walk->at = 0;
	while (walk->depth && !walk->count) {
		struct walk_level *level = &walk->levels[walk->depth - 1];
		int r = 0;

		if (!level->is_listed)
			r = names_list(walk->names, level->directory, level->next, walk_list_entry, walk);
		if (r < 0)
			return error_set(err, r, "the names cannot be read: %s", strerror(-r));
		level->is_listed = r == 0;
		walk->depth -= !walk->count;
	}
	return 0;
}

static int walk_first(struct walk *walk, struct walk_entry *ret)
{
	const struct walk_level *level = &walk->levels[0];

	walk->has_begun = true;
	if (!level->path_length)
		walk->path[0] = '/';
	*ret = (struct walk_entry){ .path = walk->path,
				    .length = level->path_length ? level->path_length : 1,
				    .type = DT_DIR,
				    .ordinal = level->directory };
	return 1;
}

static int walk_take(struct walk *walk, struct walk_entry *ret, struct error *err)
{
	const struct walk_ahead *ahead = &walk->ahead[walk->at++];
	size_t before = walk->levels[walk->depth - 1].path_length, length = before + 1 + ahead->length;
	int r = grow(walk->path, walk->path_room, length, err);

	if (r == 0 && ahead->type == DT_DIR)
		r = walk_push(walk, ahead->ordinal, length, err);
	if (r < 0)
		return r;
	walk->path[before] = '/';
	memcpy(walk->path + before + 1, ahead->name, ahead->length);
	*ret = (struct walk_entry){ walk->path, length, ahead->length, ahead->type, ahead->ordinal };
	return 1;
}

int walk_next(struct walk *walk, struct walk_entry *ret, struct error *err)
{
	int r = 0;

	if (!walk->has_begun)
		return walk_first(walk, ret);
	if (walk->at == walk->count)
		r = walk_list(walk, err);
	if (r < 0 || walk->at == walk->count)
		return r;
	return walk_take(walk, ret, err);
}
