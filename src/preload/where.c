/* SPDX-License-Identifier: MIT */
/* By the text of an absolute path: one that comes in by another way, as by a symbolic link, is the mount's to
 * answer. */
#include "preload/where.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

	rest = strlen(path);
	if (*path == '/')
		return rest < PATH_MAX ? path : NULL;
	length = where_directory(directory, where->absolute, sizeof(where->absolute));
	if (length <= 0 || where->absolute[0] != '/' || (size_t)length + 1 + rest >= sizeof(where->absolute))
		return NULL;
	where->folder = length == 1 ? 0 : (size_t)length;
	where->absolute[where->folder] = '/';
	memcpy(where->absolute + where->folder + 1, path, rest + 1);
	return where->absolute;
}

/* --- whether a directory is what its path says --- */

/* Above the mountpoint: what is mounted may be mounted over it, or it is where no path leads to any more. */
static bool where_leads_to_root(const struct where *where, int directory, const char *path)
{
	size_t length = where->dataset->length - where->folder - 1;
	char prefix[DATASET_ROOT];

	memcpy(prefix, path, length);
	prefix[length] = 0;
	return datasets_is_root(where->dataset, directory, prefix);
}

/* In the data set: it may be of a version that was mounted before, or of what is below the mount. */
static bool where_is_inside(struct where *where, int directory)
{
	const char *below = where->absolute + where->dataset->length;
	struct statx st;
	uint64_t id;
	int r;

	if (statx(directory, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) < 0 ||
	    !datasets_is_device(where->dataset, &st))
		return false;
	if (where->folder == where->dataset->length)
		return st.stx_ino == INODE_ROOT;
	where->absolute[where->folder] = 0;
	r = where->opened->way->lookup(where->opened, below + 1, &id, NULL);
	where->absolute[where->folder] = '/';
	return r == 0 && id == st.stx_ino;
}

static bool where_leads(struct where *where, int directory, const char *path)
{
	return where->folder < where->dataset->length ? where_leads_to_root(where, directory, path) :
							 where_is_inside(where, directory);
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
	if (absolute == path || where_leads(where, directory, path))
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
