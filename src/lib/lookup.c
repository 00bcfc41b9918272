/* SPDX-License-Identifier: MIT */
/* Goes from directory to directory by the components of a path, and of the links on its way. */
#include "lib/lookup.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "image/inode.h"
#include "lib/lane.h"
#include "lib/permission.h"

#define LOOKUP_LINKS 40u /* MAXSYMLINKS of the kernel */

/* What is left of the path, or of a link's target: both end where the index or the caller's string does. */
struct lookup_rest {
	const char *at, *end;
};

struct lookup {
	struct lane *lane;
	const struct index *index;
	struct permission permission;
	struct inode at;
	unsigned links, depth;
	struct lookup_rest rest[LOOKUP_LINKS + 1]; /* the path, and on it the links that are being followed */
	const char *folder_end; /* in the path: whatever is in front of it is to be remembered; NULL: nothing */
};

/* --- the directory that the last path led to: most paths in a row share it --- */

static bool lookup_is_remembered(const struct lane_memo *memo, const char *path, size_t length)
{
	return length && memo->length == length && !memcmp(memo->path, path, length);
}

/* Only what is the same for everybody: a thread may become another user. */
static void lookup_remember(struct lookup *lookup, const char *path)
{
	struct lane_memo *memo = &lookup->lane->memo;
	size_t length = (size_t)(lookup->folder_end - path);

	if (lookup->permission.is_known || length > sizeof(memo->path) || !S_ISDIR(lookup->at.mode))
		return;
	memcpy(memo->path, path, length);
	memo->length = length;
	memo->ordinal = lookup->at.ordinal;
	memo->links = lookup->links;
}

static int lookup_begin(struct lookup *lookup, const char *path, struct error *err)
{
	const struct lane_memo *memo = &lookup->lane->memo;
	const char *end = path + strlen(path), *slash = memrchr(path, '/', (size_t)(end - path));
	bool is_remembered = slash && lookup_is_remembered(memo, path, (size_t)(slash - path));

	lookup->rest[0] = (struct lookup_rest){ is_remembered ? slash : path, end };
	lookup->links = is_remembered ? memo->links : 0;
	lookup->folder_end = is_remembered || slash == path ? NULL : slash;
	return inode_get(lookup->index, is_remembered ? memo->ordinal : INODE_ROOT, &lookup->at, err);
}

/* --- one component --- */

static int lookup_move(struct lookup *lookup, uint64_t ordinal, struct error *err)
{
	int r = inode_get(lookup->index, ordinal, &lookup->at, err);

	return r < 0 ? r : 1;
}

static int lookup_parent(struct lookup *lookup, struct error *err)
{
	if (lookup->at.ordinal == INODE_ROOT)
		return error_set(err, -EXDEV, "'..' leads out of the data set");
	return lookup_move(lookup, lookup->at.where, err);
}

/* The directory stays where the link is: its target begins there. */
static int lookup_follow(struct lookup *lookup, const struct inode *link, struct error *err)
{
	struct span target;
	const char *text;
	int r;

	if (lookup->links++ == LOOKUP_LINKS)
		return error_set(err, -ELOOP, "more than %u symbolic links", LOOKUP_LINKS);
	r = inode_link_target(lookup->index, link, &target, err);
	if (r < 0)
		return r;
	text = (const char *)target.base;
	if (text[0] == '/')
		return error_set(err, -EXDEV, "a symbolic link to '%.*s' leads out of the data set", (int)target.size,
				 text);
	lookup->rest[++lookup->depth] = (struct lookup_rest){ text, text + target.size };
	return 1;
}

static int lookup_name(struct lookup *lookup, const char *name, size_t length, struct error *err)
{
	struct inode inode;
	uint64_t ordinal;
	int r;

	if (length > DSFS_NAME_MAX)
		return error_set(err, -ENAMETOOLONG, "a name of %zu bytes, expected at most %u", length, DSFS_NAME_MAX);
	r = names_lookup(lookup->lane->names, lookup->at.ordinal, name, length, &ordinal);
	if (r < 0)
		return error_set(err, r, r == -ENOENT ? "there is no '%.*s'" : "the names are damaged at '%.*s'",
				 (int)length, name);
	r = inode_get(lookup->index, ordinal, &inode, err);
	if (r < 0)
		return r;
	if (S_ISLNK(inode.mode))
		return lookup_follow(lookup, &inode, err);
	lookup->at = inode;
	return 1;
}

static int lookup_component(struct lookup *lookup, struct lookup_rest *rest, struct error *err)
{
	const char *name = rest->at, *slash = memchr(name, '/', (size_t)(rest->end - name));
	size_t length = (size_t)((slash ? slash : rest->end) - name);
	int r = permission_check(&lookup->permission, &lookup->at, PERMISSION_SEARCH, err);

	if (r < 0)
		return r;
	rest->at += length;
	if (length == 1 && name[0] == '.')
		return 1;
	if (length == 2 && name[0] == '.' && name[1] == '.')
		return lookup_parent(lookup, err);
	return lookup_name(lookup, name, length, err);
}

/* What stands in front of a slash is a directory, also at the end of a path. */
static int lookup_slashes(struct lookup *lookup, struct lookup_rest *rest, struct error *err)
{
	if (!S_ISDIR(lookup->at.mode))
		return error_set(err, -ENOTDIR, "what comes before a '/' is not a directory");
	while (rest->at != rest->end && *rest->at == '/')
		rest->at++;
	return 1;
}

/* 1: there is more of the path; 0: lookup->at is what it leads to. */
static int lookup_step(struct lookup *lookup, const char *path, struct error *err)
{
	struct lookup_rest *rest = &lookup->rest[lookup->depth];

	if (rest->at == lookup->folder_end)
		lookup_remember(lookup, path);
	if (rest->at == rest->end) {
		if (lookup->depth == 0)
			return 0;
		lookup->depth--;
		return 1;
	}
	return *rest->at == '/' ? lookup_slashes(lookup, rest, err) : lookup_component(lookup, rest, err);
}

int lookup_id(struct opened *opened, const char *path, uint64_t *ret_id, struct error *err)
{
	struct direct *direct = (struct direct *)opened;
	struct lookup lookup;
	int r;

	lookup.index = direct->index;
	lookup.permission = (struct permission){ 0 };
	lookup.depth = 0;
	r = lane_enter(direct, &lookup.lane, err);
	if (r < 0)
		return r;
	r = lookup_begin(&lookup, path, err);
	do
		r = r < 0 ? r : lookup_step(&lookup, path, err);
	while (r > 0);
	permission_end(&lookup.permission);
	lane_leave(lookup.lane);
	if (r < 0)
		return error_wrap(err, r, "'%s'", path);
	*ret_id = direct_id(direct, lookup.at.ordinal);
	return 0;
}
