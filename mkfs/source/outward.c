/* SPDX-License-Identifier: MIT */
/* Compares the depth of a directory with the ".." of a target. Directories on the way may be links themselves. */
#include "source/outward.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Walks the path from a depth. Returns the depth that it ends in, or -1 if it leaves the source. */
static int64_t outward_walk(int64_t depth, const char *path)
{
	while (*path && depth >= 0) {
		size_t length = strcspn(path, "/");

		if (length == 2 && path[0] == '.' && path[1] == '.')
			depth--;
		else if (length && !(length == 1 && *path == '.'))
			depth++;
		path += length + (path[length] == '/');
	}
	return depth;
}

void outward_look(struct outward *outward, const char *directory, const char *name, const char *target)
{
	if (*target != '/' && outward_walk(outward_walk(0, directory), target) >= 0)
		return;
	if (!outward->count++)
		snprintf(outward->example, sizeof(outward->example), "'%s%s%s' to '%s'", directory,
			 *directory ? "/" : "", name, target);
}
