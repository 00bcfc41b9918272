/* SPDX-License-Identifier: MIT */
/* Implements the public calls about names and inodes, each by the handle's backend. */
#include <errno.h>

#include "lib/api/handle.h"
#include "lib/direct/extents.h"
#include "lib/reason.h"

static int tree_lookup_each(struct opened *opened, const char *const *paths, size_t count, int64_t *ids,
			    struct error *err)
{
	struct error why;
	int first = 0, r;

	for (size_t i = 0; i < count; i++) {
		uint64_t id = 0;

		error_clear(&why);
		r = opened->backend->lookup(opened, paths[i], &id, first ? NULL : &why);
		ids[i] = r < 0 ? r : (int64_t)id;
		if (r < 0 && first == 0)
			first = error_pass(err, r, &why);
	}
	return first;
}

int dsfs_lookup(struct dsfs *fs, const char *const *paths, size_t count, int64_t *ids)
{
	struct error *err = reason_begin();
	struct opened *opened = handle_get(fs);
	int r = count > 1 && opened->backend->lookup_many ?
			opened->backend->lookup_many(opened, paths, count, ids, err) :
			tree_lookup_each(opened, paths, count, ids, err);

	handle_put(opened);
	return r;
}

/* Gets the handle's version, with a use counted, if it has this id. */
static int tree_enter(struct dsfs *fs, uint64_t id, struct opened **ret, struct error *err)
{
	struct opened *opened = handle_get(fs);
	int r = lib_check_id(opened, id, err);

	if (r < 0)
		handle_put(opened);
	else
		*ret = opened;
	return r;
}

int dsfs_stat(struct dsfs *fs, uint64_t id, struct stat *ret)
{
	struct error *err = reason_begin();
	struct opened *opened;
	int r = tree_enter(fs, id, &opened, err);

	if (r < 0)
		return r;
	r = opened->backend->stat(opened, id, ret, err);
	handle_put(opened);
	return r;
}

ssize_t dsfs_readlink(struct dsfs *fs, uint64_t id, char *buffer, size_t size)
{
	struct error *err = reason_begin();
	struct opened *opened;
	int r = tree_enter(fs, id, &opened, err);

	if (r < 0)
		return r;
	r = opened->backend->readlink(opened, id, buffer, size, err);
	handle_put(opened);
	return r;
}

ssize_t dsfs_path(struct dsfs *fs, uint64_t id, char *buffer, size_t size)
{
	struct error *err = reason_begin();
	struct opened *opened;
	int r = tree_enter(fs, id, &opened, err);

	if (r < 0)
		return r;
	r = opened->backend->path(opened, id, buffer, size, err);
	handle_put(opened);
	return r;
}

int dsfs_list(struct dsfs *fs, uint64_t directory, int (*each)(void *argument, const struct dsfs_dirent *entry),
	      void *argument)
{
	struct error *err = reason_begin();
	struct opened *opened;
	int r = tree_enter(fs, directory, &opened, err);

	if (r < 0)
		return r;
	r = opened->backend->list(opened, directory, each, argument, err);
	handle_put(opened);
	return r;
}

int dsfs_walk(struct dsfs *fs, uint64_t directory, int (*each)(void *argument, const struct dsfs_dirent *entry),
	      void *argument)
{
	struct error *err = reason_begin();
	struct opened *opened;
	int r = tree_enter(fs, directory, &opened, err);

	if (r < 0)
		return r;
	r = opened->backend->walk(opened, directory, each, argument, err);
	handle_put(opened);
	return r;
}

int dsfs_range(struct dsfs *fs, uint64_t directory, uint64_t *ret_first, uint64_t *ret_count)
{
	struct error *err = reason_begin();
	struct opened *opened;
	int r = tree_enter(fs, directory, &opened, err);

	if (r < 0)
		return r;
	r = opened->backend->range(opened, directory, ret_first, ret_count, err);
	handle_put(opened);
	return r;
}

int dsfs_versions(struct dsfs *fs, int (*each)(void *argument, const struct dsfs_version_info *version),
		  void *argument)
{
	struct error *err = reason_begin();
	struct opened *opened = handle_get(fs);
	int r = opened->backend->versions(opened, each, argument, err);

	handle_put(opened);
	return r;
}

/* Refuses what only a handle past the mount can tell. */
static int tree_refuse(const struct opened *opened, struct error *err)
{
	return error_set(err, -EPERM, "this handle goes through the mount: %s", opened->info.why);
}

int dsfs_extents(struct dsfs *fs, uint64_t id, uint64_t offset, struct dsfs_file_extent *ret, size_t most)
{
	struct error *err = reason_begin();
	struct opened *opened;
	int r = tree_enter(fs, id, &opened, err);

	if (r < 0)
		return r;
	r = opened->backend->extents ? opened->backend->extents(opened, id, offset, ret, most, err) :
				     tree_refuse(opened, err);
	handle_put(opened);
	return r;
}

int dsfs_placed(struct dsfs *fs, uint64_t first, uint64_t *ids, size_t most)
{
	struct error *err = reason_begin();
	struct opened *opened = handle_get(fs);
	int r = opened->backend->placed ? opened->backend->placed(opened, first, ids, most, err) :
					  tree_refuse(opened, err);

	handle_put(opened);
	return r;
}

int dsfs_verify(const struct dsfs_file_extent *extent, const void *stored, void *contents)
{
	return extents_verify(extent, stored, contents, reason_begin());
}
