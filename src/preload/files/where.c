/* SPDX-License-Identifier: MIT */
/* Takes an absolute path by its text; one that comes in another way, as by a symbolic link, is left to the mount. For
 * a relative path the kernel tells the mount in which it begins. */
#include "preload/files/where.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fdname.h"
#include "image/inode.h"
#include "lib/api/handle.h"
#include "lib/direct/direct.h"
#include "preload/files/table.h"

/* The last directory of this thread, below the root of a version. */
struct where_folder {
	uint64_t key, inode; /* of the version, and of the directory in it */
	size_t length;
	char path[TABLE_PATH];
};

static __thread struct where_folder folder __attribute__((tls_model("initial-exec")));

static ssize_t where_directory(int directory, char *path, size_t size)
{
	if (directory == AT_FDCWD)
		return getcwd(path, size) ? (ssize_t)strlen(path) : -1;
	return fdname_path(directory, path, size);
}

/* Returns a directory's path below the root, if it leads to the same inode in this version; else NULL. */
static const char *where_name(struct where *where, int directory)
{
	ssize_t length = where_directory(directory, where->joined, sizeof(where->joined));
	size_t root = where->dataset->length;
	const char *name = where->joined + root + 1;
	uint64_t id;

	if (length <= (ssize_t)root || strncmp(where->joined, where->dataset->root, root) || where->joined[root] != '/')
		return NULL;
	return where->opened->backend->lookup(where->opened, name, &id, NULL) == 0 && id == where->inode ? name : NULL;
}

/* Remembers the directory: most relative paths in a row begin in the same one, and its path never changes. */
static bool where_remember(struct where *where, int directory)
{
	uint64_t key = ((const struct direct *)where->opened)->key;
	const char *name;
	size_t length;

	if (folder.key == key && folder.inode == where->inode)
		return true;
	name = where_name(where, directory);
	length = name ? strlen(name) : 0;
	if (!name || length >= sizeof(folder.path))
		return false;
	folder = (struct where_folder){ .key = key, .inode = where->inode, .length = length };
	memcpy(folder.path, name, length);
	return true;
}

static bool where_join(struct where *where, int directory, const char *path)
{
	size_t rest = strlen(path);

	if (!where_remember(where, directory) || folder.length + 1 + rest >= sizeof(where->joined))
		return false;
	memcpy(where->joined, folder.path, folder.length);
	where->joined[folder.length] = '/';
	memcpy(where->joined + folder.length + 1, path, rest + 1);
	where->below = where->joined;
	return true;
}

static struct dataset *where_dataset(struct where *where, int directory, const char *path)
{
	struct dataset *dataset;

	where->inode = INODE_ROOT;
	if (*path == '/')
		return datasets_find(path, &where->below);
	dataset = datasets_find_below(directory, path, &where->below);
	if (dataset)
		return dataset;
	where->below = path;
	return datasets_find_around(directory, "", &where->inode);
}

bool where_find(struct where *where, int directory, const char *path)
{
	if (!datasets_look() || strlen(path) >= PATH_MAX)
		return false;
	where->dataset = where_dataset(where, directory, path);
	where->opened = where->dataset ? datasets_get(where->dataset) : NULL;
	if (!where->opened)
		return false;
	if (where->inode == INODE_ROOT || where_join(where, directory, path))
		return true;
	handle_put(where->opened);
	return false;
}

int where_number(const char *path)
{
	unsigned long number;
	char *end;

	if (*path == '/' && !strstr(path, "/fd")) /* only /proc/self/fd, fdinfo and /dev/fd lead to numbers */
		return -1;
	for (; path; path = strchr(path, '/')) {
		path += strspn(path, "/");
		if (*path < '0' || *path > '9')
			continue;
		number = strtoul(path, &end, 10);
		if ((!*end || *end == '/') && number < TABLE_SIZE && table_may_have((int)number))
			return (int)number;
	}
	return -1;
}
