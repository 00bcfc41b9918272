/* SPDX-License-Identifier: MIT */
/* Implements the operations of the backend through the mount. The kernel decides who may read what. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "datasetfs/control.h"
#include "lib/beneath.h"
#include "lib/mounted/mounted.h"
#include "lib/mounted/mounted_node.h"
#include "lib/mounted/mounted_place.h"
#include "lib/mounted/mounted_read.h"
#include "lib/mounted/mounted_tree.h"
#include "lib/question.h"

/* --- paths --- */

/* Removes '.', empty components and slashes at the ends. False: there is a '..', which only the kernel resolves. */
static bool mounted_backend_tidy(const char *path, char *tidy)
{
	const char *end;
	char *to = tidy;
	size_t length;

	for (; *path; path = end) {
		path += strspn(path, "/");
		end = path + strcspn(path, "/");
		length = (size_t)(end - path);
		if (length == 2 && path[0] == '.' && path[1] == '.')
			return false;
		if (!length || (length == 1 && path[0] == '.'))
			continue;
		if (to != tidy)
			*to++ = '/';
		memcpy(to, path, length);
		to += length;
	}
	*to = 0;
	return true;
}

/* Whether the path is .datasetfs, which the root of the mount has and no version. */
static bool mounted_backend_is_control(const struct mounted_version *mounted, const char *path)
{
	size_t length = strlen(DSFS_CONTROL_FOLDER);

	while (path[0] == '/' || (path[0] == '.' && path[1] == '/'))
		path++;
	return !mounted->is_pinned && !strncmp(path, DSFS_CONTROL_FOLDER, length) &&
	       (path[length] == '/' || !path[length]);
}

static int mounted_backend_find(struct mounted_version *mounted, const char *path, uint64_t *ret, bool *is_plain,
				struct error *err)
{
	auto_close int fd = beneath_open(mounted->root, path, O_PATH, false, err);
	struct stat st;

	*is_plain = fd >= 0;
	if (fd == -ELOOP)
		fd = beneath_open(mounted->root, path, O_PATH, true, err);
	if (fd < 0)
		return mounted_version_settle(mounted, fd, err);
	return fstat(fd, &st) < 0 ? error_errno(err, "'%s'", path) : mounted_version_id(mounted, &st, ret, err);
}

static int mounted_backend_lookup(struct opened *opened, const char *path, uint64_t *ret_id, struct error *err)
{
	struct mounted_version *mounted = (struct mounted_version *)opened;
	auto_free char *tidy = malloc(strlen(path) + 1);
	bool is_plain, is_tidy;
	uint64_t id = 0;
	int r;

	if (!tidy)
		return error_no_memory(err);
	path += strspn(path, "/");
	if (mounted_backend_is_control(mounted, path))
		return error_set(err, -ENOENT, "'%s': there is no '" DSFS_CONTROL_FOLDER "'", path);
	r = mounted_backend_find(mounted, *path ? path : ".", &id, &is_plain, err);
	if (r == 0 && id == opened->info.root)
		r = mounted_version_check(mounted, err);
	if (r < 0)
		return r;
	is_tidy = mounted_backend_tidy(path, tidy);
	r = mounted_names_note(mounted->names, id, is_tidy ? tidy : path, is_tidy && is_plain, err);
	if (r == 0)
		*ret_id = id;
	return r;
}

static int mounted_backend_copy(const char *text, size_t length, char *buffer, size_t size, struct error *err)
{
	if (length >= size)
		return error_set(err, -ERANGE, "it takes %zu bytes, the buffer has %zu", length + 1, size);
	memcpy(buffer, text, length);
	buffer[length] = 0;
	return (int)length;
}

/* A file with several names may have an earlier one than the known one. */
static int mounted_backend_path(struct opened *opened, uint64_t id, char *buffer, size_t size, struct error *err)
{
	struct mounted_version *mounted = (struct mounted_version *)opened;
	auto_free char *known = NULL, *path = NULL;
	enum mounted_kind kind;
	bool is_one;
	int r;

	if (id == opened->info.root)
		return mounted_backend_copy("", 0, buffer, size, err);
	r = mounted_node_path(mounted, id, MOUNTED_SOME, &known, &kind, err);
	if (r == 0 && kind == MOUNTED_FIRST)
		return mounted_backend_copy(known, strlen(known), buffer, size, err);
	if (r == 0)
		r = mounted_node_has_one_name(mounted, id, &is_one, err);
	if (r == 0)
		r = mounted_node_path(mounted, id, is_one ? MOUNTED_PLAIN : MOUNTED_FIRST, &path, &kind, err);
	return r < 0 ? r : mounted_backend_copy(path, strlen(path), buffer, size, err);
}

/* --- attributes --- */

static int mounted_backend_stat(struct opened *opened, uint64_t id, struct stat *ret, struct error *err)
{
	struct mounted_version *mounted = (struct mounted_version *)opened;
	struct stat st;
	int fd = mounted_node_open(mounted, id, O_PATH, &st, err), r = 0;

	if (fd < 0)
		return fd;
	close(fd);
	st.st_dev = 0; /* 0, as past the mount, where there is no device */
	if (id == lib_first_id(&opened->info)) /* the root is 1 in every version, as at the mountpoint */
		st.st_ino = QUESTION_ROOT;
	if (id == opened->info.root)
		r = mounted_version_check(mounted, err);
	if (r == 0)
		*ret = st;
	return r;
}

static int mounted_backend_readlink(struct opened *opened, uint64_t id, char *buffer, size_t size, struct error *err)
{
	struct mounted_version *mounted = (struct mounted_version *)opened;
	char target[PATH_MAX];
	struct stat st;
	auto_close int fd = mounted_node_open(mounted, id, O_PATH, &st, err);
	ssize_t length;

	if (fd < 0)
		return fd;
	if (!S_ISLNK(st.st_mode))
		return error_set(err, -EINVAL, "id %llu is not a symbolic link", (unsigned long long)id);
	length = readlinkat(fd, "", target, sizeof(target));
	if (length < 0)
		return error_errno(err, "cannot read a symbolic link of the mount");
	return mounted_backend_copy(target, (size_t)length, buffer, size, err);
}

/* --- versions --- */

struct mounted_backend_versions {
	int (*each)(void *argument, const struct dsfs_version_info *version);
	void *argument;
};

static int mounted_backend_version(void *argument, const struct dsfs_info *version, bool is_current)
{
	const struct mounted_backend_versions *versions = argument;
	struct dsfs_version_info info = {
		.sequence = version->sequence, .label = version->label, .is_current = is_current,
	};

	memcpy(info.uuid, version->uuid, sizeof(info.uuid));
	return versions->each(versions->argument, &info);
}

static int mounted_backend_versions(struct opened *opened,
				    int (*each)(void *argument, const struct dsfs_version_info *version),
				    void *argument, struct error *err)
{
	const struct mounted_version *mounted = (const struct mounted_version *)opened;
	struct mounted_backend_versions versions = { each, argument };

	return mounted_place_versions(mounted->mount, mounted_backend_version, &versions, err);
}

const struct backend mounted_backend = {
	.kind = DSFS_WAY_MOUNT,
	.lookup = mounted_backend_lookup,
	.stat = mounted_backend_stat,
	.readlink = mounted_backend_readlink,
	.path = mounted_backend_path,
	.list = mounted_tree_list,
	.walk = mounted_tree_walk,
	.range = mounted_tree_range,
	.versions = mounted_backend_versions,
	.read_many = mounted_read_many,
	.pending_new = mounted_read_pending,
	.renew = mounted_renew,
	.close = mounted_close,
};
