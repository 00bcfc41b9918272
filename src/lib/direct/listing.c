/* SPDX-License-Identifier: MIT */
/* Walks with one position for each level, its directory and the number of its next entry, and keeps no entries. */
#include "lib/direct/listing.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "image/inode.h"
#include "lib/direct/context.h"
#include "lib/permission.h"

struct listing_level {
	struct inode directory;
	uint64_t next; /* number of the next entry */
	size_t path;   /* bytes of the directory's path, with a '/' behind it */
};

struct listing {
	struct context *context;
	struct permission permission;
	int (*each)(void *argument, const struct dsfs_dirent *entry);
	void *argument;
	bool is_deep;
	struct listing_level *levels; /* a walk continues in the last one */
	size_t count, room;
	char *path; /* of the entry that each() sees; ends with its name */
	size_t path_room;
	uint64_t found; /* ordinal of the directory to enter next; 0: none */
	int result;     /* returned by each(), or a negative errno */
	struct error *err;
};

static int listing_enter(struct listing *listing, uint64_t ordinal, size_t path, struct error *err)
{
	struct inode inode;
	int r = inode_get(listing->context->direct->version.index, ordinal, &inode, err);

	if (r < 0)
		return r;
	if (!S_ISDIR(inode.mode))
		return error_set(err, -ENOTDIR, "inode %" PRIu64 " is not a directory", ordinal);
	r = permission_check(&listing->permission, &inode, PERMISSION_READ, err);
	if (r == 0)
		r = grow(listing->levels, listing->room, listing->count + 1, err);
	if (r < 0)
		return r;
	listing->levels[listing->count++] = (struct listing_level){ .directory = inode, .path = path };
	return 0;
}

/* Passes an entry to each(); returns 1 to end the listing of this directory, for now or for good. */
static int listing_see(void *argument, const struct names_entry *entry)
{
	struct listing *listing = argument;
	struct listing_level *level = &listing->levels[listing->count - 1];
	struct dsfs_dirent seen = { .type = entry->type, .length = entry->name_length };
	char *name;

	listing->result = grow(listing->path, listing->path_room, level->path + DSFS_NAME_MAX + 2, listing->err);
	if (listing->result < 0)
		return 1;
	name = listing->path + level->path;
	memcpy(name, entry->name, entry->name_length);
	name[entry->name_length] = 0;
	seen.id = direct_id(listing->context->direct, entry->ordinal);
	seen.name = name;
	seen.path = listing->is_deep ? listing->path : NULL;
	level->next = entry->number + 1;
	listing->found = listing->is_deep && entry->type == DT_DIR ? entry->ordinal : 0;
	listing->result = listing->each(listing->argument, &seen);
	return listing->result || listing->found;
}

/* Enters the directory at which the listing stopped; path: length of its path. Its number must be higher than its
 * parent's, so that a walk of a damaged index ends, too. */
static int listing_descend(struct listing *listing, size_t path, struct error *err)
{
	const struct inode *directory = &listing->levels[listing->count - 1].directory;
	int r;

	if (listing->found <= directory->ordinal)
		return error_set(err, -EBADMSG, "names: directory %" PRIu64 " in directory %" PRIu64, listing->found,
				 directory->ordinal);
	r = permission_check(&listing->permission, directory, PERMISSION_SEARCH, err);
	if (r < 0)
		return r;
	listing->path[path] = '/';
	return listing_enter(listing, listing->found, path + 1, err);
}

static int listing_go_down(struct listing *listing, struct error *err)
{
	size_t path = strlen(listing->path);
	int r = listing_descend(listing, path, err);

	return r < 0 ? error_wrap(err, r, "'%.*s'", (int)path, listing->path) : 0;
}

static int listing_go_on(struct listing *listing, struct error *err)
{
	int r = 0;

	while (listing->count > 0 && r == 0) {
		const struct listing_level *level = &listing->levels[listing->count - 1];

		r = names_list(listing->context->direct->version.index->names, level->directory.ordinal, level->next,
			       listing_see, listing);
		if (r < 0)
			return error_set(err, r, "the names of directory %" PRIu64 " are damaged",
					 level->directory.ordinal);
		if (r == 0)
			listing->count--;
		else
			r = listing->result ? listing->result : listing_go_down(listing, err);
	}
	return r;
}

static int listing_run(struct listing *listing, struct opened *opened, uint64_t directory, struct error *err)
{
	struct direct *direct = (struct direct *)opened;
	int r = context_enter(direct, &listing->context, err);

	if (r < 0)
		return r;
	listing->err = err;
	r = listing_enter(listing, direct_ordinal(direct, directory), 0, err);
	if (r == 0)
		r = listing_go_on(listing, err);
	context_leave(listing->context);
	permission_end(&listing->permission);
	free(listing->levels);
	free(listing->path);
	return r;
}

int listing_list(struct opened *opened, uint64_t directory,
		 int (*each)(void *argument, const struct dsfs_dirent *entry), void *argument, struct error *err)
{
	struct listing listing = { .each = each, .argument = argument };

	return listing_run(&listing, opened, directory, err);
}

int listing_walk(struct opened *opened, uint64_t directory,
		 int (*each)(void *argument, const struct dsfs_dirent *entry), void *argument, struct error *err)
{
	struct listing listing = { .each = each, .argument = argument, .is_deep = true };

	return listing_run(&listing, opened, directory, err);
}
