/* SPDX-License-Identifier: MIT */
/* By the text of an absolute path: one that comes in by another way, as by a symbolic link, is the mount's to
 * answer. */
#include "preload/where.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "datasetfs/format.h"
#include "image/inode.h"
#include "lib/handle.h"
#include "preload/table.h"

static ssize_t where_directory(int directory, char *path, size_t size)
{
	char link[32];
	ssize_t length;

	if (directory == AT_FDCWD)
		return getcwd(path, size) ? (ssize_t)strlen(path) : -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", directory);
	length = readlink(link, path, size - 1);
	if (length >= 0)
		path[length] = 0;
	return length;
}

static const char *where_absolute(struct where *where, int directory, const char *path)
{
	ssize_t length;
	size_t rest;

	if (*path == '/')
		return path;
	length = where_directory(directory, where->absolute, PATH_MAX);
	rest = strlen(path);
	if (length <= 0 || where->absolute[0] != '/' || rest >= PATH_MAX)
		return NULL;
	where->absolute[length] = '/';
	memcpy(where->absolute + length + 1, path, rest + 1);
	return where->absolute;
}

/* A directory of a version that was mounted before keeps its path, and leads to other files. */
static bool where_is_current(const struct where *where, int directory)
{
	struct statx st;

	if (statx(directory, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) < 0)
		return false;
	return !datasets_is_device(where->dataset, &st) || st.stx_ino == INODE_ROOT ||
	       st.stx_ino >> DSFS_ORDINAL_BITS == where->opened->info.sequence;
}

bool where_find(struct where *where, int directory, const char *path)
{
	const char *absolute;

	if (!datasets_look())
		return false;
	absolute = where_absolute(where, directory, path);
	where->dataset = absolute ? datasets_find(absolute, &where->below) : NULL;
	where->opened = where->dataset ? datasets_get(where->dataset) : NULL;
	if (!where->opened)
		return false;
	if (absolute == path || where_is_current(where, directory))
		return true;
	handle_put(where->opened);
	return false;
}

int where_number(const char *path)
{
	unsigned long number;
	char *end;

	if (*path == '/' && !strstr(path, "/fd")) /* /proc/self/fd, fdinfo, /dev/fd: nothing else leads there */
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
