/* SPDX-License-Identifier: MIT */
/* Walks to the directory above by place_open(). */
#include "csi/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/place.h"
#include "base/cleanup.h"

#define TARGET_DEEPEST 32u /* directories below the root; the kubelet's have six */
#define TARGET_MODE    0750 /* as the kubelet's own */

int target_find(const char *root, struct target_root *ret, struct error *err)
{
	ret->given = root;
	if (*root != '/' || !root[1] || root[strlen(root) - 1] == '/')
		return error_set(err, -EINVAL, "the kubelet's root '%s': expected an absolute path without a slash at "
				 "its end", root);
	if (!realpath(root, ret->real))
		return error_errno(err, "cannot find the kubelet's root '%s': --kubelet names another one", root);
	return 0;
}

/* Checks the names of the directories below the root. */
static int target_check(const char *rest, const char *path, struct error *err)
{
	unsigned depth = 0;

	for (const char *c = rest; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return error_set(err, -EINVAL, "the target path holds a control character");
	while (*rest == '/') {
		size_t length = strcspn(++rest, "/");

		if (!length || (*rest == '.' && (length == 1 || (length == 2 && rest[1] == '.'))))
			return error_set(err, -EINVAL, "target path '%s' has an empty name, '.' or '..'", path);
		if (++depth > TARGET_DEEPEST)
			return error_set(err, -EINVAL, "target path '%s' is more than %u directories deep", path,
					 TARGET_DEEPEST);
		rest += length;
	}
	return 0;
}

int target_path(const struct target_root *root, const char *path, char ret[PATH_MAX], struct error *err)
{
	size_t length = strlen(root->given);
	int r;

	if (strncmp(path, root->given, length) != 0 || path[length] != '/')
		return error_set(err, -EINVAL, "target path '%s' is not below the kubelet's root '%s'", path,
				 root->given);
	r = target_check(path + length, path, err);
	if (r < 0)
		return r;
	if (snprintf(ret, PATH_MAX, "%s%s", root->real, path + length) >= PATH_MAX)
		return error_set(err, -EINVAL, "target path '%s' is too long", path);
	return 0;
}

/* Opens the directory above, and finds the name in it. */
static int target_above(const char *path, struct place *ret, const char **ret_name, struct error *err)
{
	const char *slash = strrchr(path, '/');
	char above[PATH_MAX];

	snprintf(above, sizeof(above), "%.*s", (int)(slash - path), path);
	*ret_name = slash + 1;
	return place_open(above, ret, err);
}

int target_make(const char *path, struct error *err)
{
	auto_place struct place above = PLACE_NONE, itself = PLACE_NONE;
	const char *name;
	int r = target_above(path, &above, &name, err);

	if (r < 0)
		return r;
	if (mkdirat(above.directory, name, TARGET_MODE) < 0 && errno != EEXIST)
		return error_errno(err, "cannot make '%s'", path);
	return place_open(path, &itself, err);
}

bool target_is_there(const char *path)
{
	auto_place struct place place = PLACE_NONE;

	return place_open(path, &place, NULL) != -ENOENT;
}

int target_remove(const char *path, struct error *err)
{
	auto_place struct place above = PLACE_NONE;
	const char *name;
	int r = target_above(path, &above, &name, err);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (unlinkat(above.directory, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return error_errno(err, "cannot remove '%s'", path);
	return 0;
}
