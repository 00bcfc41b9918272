/* SPDX-License-Identifier: MIT */
/* Opens an inode by its known path, and checks that it is still the same inode. */
#include "lib/mounted/mounted_node.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/beneath.h"
#include "lib/mounted/mounted_dir.h"

static int mounted_node_learn(struct mounted_version *mounted, uint64_t directory, const char *path, struct error *err)
{
	struct mounted_batch batch = { 0 };
	struct mounted_dir dir = { 0 };
	int r = mounted_dir_open(mounted, directory, path, true, &dir, err);

	if (r == 0)
		r = mounted_dir_next(&dir, SIZE_MAX, &batch, err);
	mounted_dir_close(&dir);
	if (r == 0)
		r = mounted_names_sweep(mounted->names, directory, &batch, err);
	else if (r == -EACCES)
		mounted_names_skip(mounted->names, directory);
	mounted_dir_free(&batch);
	return r == -EACCES ? 0 : r;
}

/* Lists the next directory of the sweep, if there is one. */
static int mounted_node_step(struct mounted_version *mounted, struct error *err)
{
	auto_free char *path = NULL;
	uint64_t directory = 0;
	int r = mounted_names_next(mounted->names, &directory, &path, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return mounted_node_learn(mounted, directory, path, err);
}

/* Reads the sweep's state before the range, as another thread may finish the sweep in between. */
int mounted_node_sweep(struct mounted_version *mounted, uint64_t directory, uint64_t *ret_first, uint64_t *ret_count,
		       struct error *err)
{
	bool is_swept;
	int r;

	do {
		is_swept = mounted_names_swept(mounted->names, UINT64_MAX);
		r = mounted_names_range(mounted->names, directory, ret_first, ret_count);
		if (r != -ENOENT)
			return r;
		if (is_swept)
			return error_set(err, -EACCES, "the caller may not list the directory %" PRIu64 ", or not one "
					 "that it is in", directory);
		r = mounted_node_step(mounted, err);
	} while (r == 0);
	return r;
}

/* An earlier name may be in a directory that may not be listed, but it is no name for this caller. */
int mounted_node_path(struct mounted_version *mounted, uint64_t id, enum mounted_kind least, char **ret,
		      enum mounted_kind *ret_kind, struct error *err)
{
	bool is_swept;
	int r;

	do {
		auto_free char *path = NULL;

		is_swept = mounted_names_swept(mounted->names, id);
		r = mounted_names_path(mounted->names, id, &path, ret_kind, err);
		if (r == 0 && (*ret_kind >= least || is_swept)) {
			*ret = take_ptr(&path);
			return 0;
		}
		if (r == -ENOENT && is_swept)
			return error_set(err, -EACCES, "inode %" PRIu64 " is in no directory of the mount that the "
					 "caller may list", id);
		if (r == 0 || r == -ENOENT)
			r = mounted_node_step(mounted, err);
	} while (r == 0);
	return r;
}

void mounted_node_find(struct mounted_version *mounted, uint64_t id, struct error *ignored)
{
	auto_free char *path = NULL;
	enum mounted_kind kind;

	if (lib_has_id(&mounted->opened.info, id) && !mounted_names_knows(mounted->names, id))
		(void)!mounted_node_path(mounted, id, MOUNTED_SOME, &path, &kind, ignored);
}

int mounted_node_open(struct mounted_version *mounted, uint64_t id, int flags, struct stat *ret_st, struct error *err)
{
	auto_free char *path = NULL;
	auto_close int fd = -1;
	enum mounted_kind kind;
	int r = mounted_node_path(mounted, id, MOUNTED_SOME, &path, &kind, err);

	if (r < 0)
		return r;
	if (kind >= MOUNTED_PLAIN)
		flags |= O_NOFOLLOW;
	fd = beneath_open(mounted->root, path, flags, kind < MOUNTED_PLAIN, err);
	if (fd < 0)
		return mounted_version_settle(mounted, fd, err);
	r = mounted_version_expect(mounted, fd, path, id, ret_st, err);
	return r < 0 ? r : take_fd(&fd);
}

int mounted_node_has_one_name(struct mounted_version *mounted, uint64_t id, bool *ret, struct error *err)
{
	struct stat st;
	int fd = mounted_node_open(mounted, id, O_PATH, &st, err);

	if (fd < 0)
		return fd;
	close(fd);
	*ret = S_ISDIR(st.st_mode) || st.st_nlink == 1;
	return 0;
}
