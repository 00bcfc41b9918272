/* SPDX-License-Identifier: MIT */
/* Lists and walks. Entries are remembered before each() sees them, so that it may read a file at once. */
#include "lib/mounted/mounted_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "lib/mounted/mounted_dir.h"
#include "lib/mounted/mounted_node.h"

#define TREE_BATCH 1024 /* entries that are remembered and passed on at a time */

struct tree_call {
	int (*each)(void *argument, const struct dsfs_dirent *entry);
	void *argument;
};

/* A directory, and the entries that each() sees next. */
struct tree_level {
	struct mounted_dir dir; /* closed: all entries are in the batch */
	uint64_t id;
	struct mounted_batch batch;
	size_t at;   /* index of the next entry in batch */
	size_t path; /* bytes of the directory's path, with a '/' behind it */
};

static int mounted_tree_open(struct mounted_version *mounted, uint64_t id, struct tree_level *ret, struct error *err)
{
	auto_free char *path = NULL;
	enum mounted_kind kind;
	int r = mounted_node_path(mounted, id, MOUNTED_SOME, &path, &kind, err);

	*ret = (struct tree_level){ .id = id };
	return r < 0 ? r : mounted_dir_open(mounted, id, path, kind >= MOUNTED_PLAIN, &ret->dir, err);
}

static void mounted_tree_close(struct tree_level *level)
{
	mounted_dir_close(&level->dir);
	mounted_dir_free(&level->batch);
}

/* Reads the next entries. A listing without entries does not show its version, so the mount is asked. */
static int mounted_tree_fill(struct mounted_version *mounted, struct tree_level *level, size_t most, struct error *err)
{
	bool is_first = !level->batch.room;
	int r = mounted_dir_next(&level->dir, most, &level->batch, err);

	level->at = 0;
	if (r == 0 && level->batch.count)
		r = mounted_names_add(mounted->names, level->id, &level->batch, err);
	else if (r == 0 && is_first)
		r = mounted_version_check(mounted, err);
	if (r == 0 && level->batch.count < most)
		mounted_dir_close(&level->dir);
	return mounted_version_settle(mounted, r, err);
}

/* Gets the next entry; returns 1, or 0 at the end. */
static int mounted_tree_next(struct mounted_version *mounted, struct tree_level *level, struct dsfs_dirent *ret,
			     struct error *err)
{
	const struct mounted_entry *entry;
	int r;

	if (level->at == level->batch.count && level->dir.dir) {
		r = mounted_tree_fill(mounted, level, TREE_BATCH, err);
		if (r < 0)
			return r;
	}
	if (level->at == level->batch.count)
		return 0;
	entry = &level->batch.entries[level->at++];
	*ret = (struct dsfs_dirent){
		.id = entry->id, .type = entry->type, .length = entry->length, .name = level->batch.names + entry->at,
	};
	return 1;
}

int mounted_tree_list(struct opened *opened, uint64_t directory,
		      int (*each)(void *argument, const struct dsfs_dirent *entry), void *argument, struct error *err)
{
	struct mounted_version *mounted = (struct mounted_version *)opened;
	struct dsfs_dirent entry;
	struct tree_level level;
	int r = mounted_tree_open(mounted, directory, &level, err), told = 0;

	while (r == 0 && told == 0) {
		r = mounted_tree_next(mounted, &level, &entry, err);
		if (r <= 0)
			break;
		r = 0;
		told = each(argument, &entry);
	}
	mounted_tree_close(&level);
	return r < 0 ? r : told;
}

/* --- a walk --- */

struct tree_walk {
	struct mounted_version *mounted;
	struct tree_level *levels; /* the walk continues in the last one */
	size_t count, room;
	char *path; /* of an entry, relative to the walk's beginning */
	size_t path_room;
};

static int mounted_tree_room(struct tree_walk *walk, size_t path, struct error *err)
{
	int r = grow(walk->levels, walk->room, walk->count + 1, err);

	return r < 0 ? r : grow(walk->path, walk->path_room, path + 1, err);
}

/* Enters a directory; path: length of its path. Reads all of its entries at once, as a tree may be deeper than there
 * are descriptors. Ids of directories must grow with depth, so a walk ends. */
static int mounted_tree_enter(struct tree_walk *walk, uint64_t directory, size_t path, struct error *err)
{
	struct tree_level *level;
	int r = mounted_tree_room(walk, path + UINT8_MAX + 2, err);

	if (r < 0)
		return r;
	if (walk->count && directory <= walk->levels[walk->count - 1].id)
		return error_set(err, -EIO, "the mount has directory %" PRIu64 " in directory %" PRIu64, directory,
				 walk->levels[walk->count - 1].id);
	level = &walk->levels[walk->count++];
	r = mounted_tree_open(walk->mounted, directory, level, err);
	if (r == 0)
		r = mounted_tree_fill(walk->mounted, level, SIZE_MAX, err);
	if (path)
		walk->path[path++] = '/';
	level->path = path;
	return r;
}

static int mounted_tree_go_on(struct tree_walk *walk, const struct tree_call *call, struct error *err)
{
	struct dsfs_dirent entry;
	int r = 0;

	while (walk->count && r == 0) {
		struct tree_level *level = &walk->levels[walk->count - 1];

		r = mounted_tree_next(walk->mounted, level, &entry, err);
		if (r == 0)
			mounted_tree_close(&walk->levels[--walk->count]);
		if (r <= 0)
			continue;
		memcpy(walk->path + level->path, entry.name, entry.length + 1);
		entry.path = walk->path;
		r = call->each(call->argument, &entry);
		if (r == 0 && entry.type == DT_DIR)
			r = mounted_tree_enter(walk, entry.id, level->path + entry.length, err);
	}
	return r;
}

int mounted_tree_walk(struct opened *opened, uint64_t directory,
		      int (*each)(void *argument, const struct dsfs_dirent *entry), void *argument, struct error *err)
{
	const struct tree_call call = { each, argument };
	struct tree_walk walk = { .mounted = (struct mounted_version *)opened };
	int r = mounted_tree_enter(&walk, directory, 0, err);

	if (r == 0)
		r = mounted_tree_go_on(&walk, &call, err);
	while (walk.count)
		mounted_tree_close(&walk.levels[--walk.count]);
	free(walk.levels);
	free(walk.path);
	return r;
}

/* --- ranges --- */

/* Returns the first entry's id and the number of entries; *is_run: their ids are consecutive. */
static int mounted_tree_count(struct mounted_version *mounted, uint64_t directory, uint64_t *ret_first,
			      uint64_t *ret_count, bool *is_run, struct error *err)
{
	struct tree_level level;
	struct dsfs_dirent entry;
	int r = mounted_tree_open(mounted, directory, &level, err);

	*ret_first = *ret_count = 0;
	*is_run = true;
	while (r == 0 && (r = mounted_tree_next(mounted, &level, &entry, err)) > 0) {
		if (!*ret_count)
			*ret_first = entry.id;
		*is_run = *is_run && entry.id == *ret_first + *ret_count;
		++*ret_count;
		r = 0;
	}
	mounted_tree_close(&level);
	return r;
}

/* Entries may be hard links to files elsewhere, with ids that happen to come just before. If the first entry is not,
 * none is; otherwise only the sweep can tell. */
int mounted_tree_range(struct opened *opened, uint64_t directory, uint64_t *ret_first, uint64_t *ret_count,
		       struct error *err)
{
	struct mounted_version *mounted = (struct mounted_version *)opened;
	bool is_run, is_sure = true;
	int r = mounted_tree_count(mounted, directory, ret_first, ret_count, &is_run, err);

	if (r == 0 && *ret_count && is_run)
		r = mounted_node_has_one_name(mounted, *ret_first, &is_sure, err);
	if (r < 0 || (is_run && is_sure))
		return r;
	return mounted_node_sweep(mounted, directory, ret_first, ret_count, err);
}
