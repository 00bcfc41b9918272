/* SPDX-License-Identifier: MIT */
/* Finds the mount point of a file: the highest parent directory on the same filesystem. */
#include "base/fdname.h"
#include "io/full.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* False if the file is in no directory that this process can see. */
static bool full_find_top(int fd, dev_t filesystem, char top[PATH_MAX])
{
	char path[PATH_MAX], *slash;
	bool found = false;
	struct stat st;

	(void)fdname_path(fd, path, sizeof(path));
	while ((slash = strrchr(path, '/'))) {
		*slash = 0;
		if (stat(*path ? path : "/", &st) < 0 || st.st_dev != filesystem)
			break;
		snprintf(top, PATH_MAX, "%s", *path ? path : "/");
		found = true;
	}
	return found;
}

void full_describe(int fd, int code, char text[FULL_TEXT_SIZE])
{
	char top[PATH_MAX], name[FULL_TEXT_SIZE - 40] = "its filesystem";
	struct stat st;

	if (fstat(fd, &st) < 0 || S_ISBLK(st.st_mode)) {
		snprintf(text, FULL_TEXT_SIZE, "volume is full");
		return;
	}
	if (full_find_top(fd, st.st_dev, top))
		snprintf(name, sizeof(name), "the filesystem '%.180s'", top);
	snprintf(text, FULL_TEXT_SIZE, code == EDQUOT ? "the quota on %s is used up" : "%s is full", name);
}
