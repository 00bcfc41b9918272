/* SPDX-License-Identifier: MIT */
/* Finds the data set that a path leads into, and the path within it. */
#pragma once
#include <limits.h>

#include "preload/mounts/datasets.h"

/* Bytes of a path that is joined from two; longer ones are left to the mount, as threads may have small stacks. */
#define WHERE_PATH (DATASET_ROOT + 1024u)

struct where {
	struct dataset *dataset;
	struct opened *opened; /* the mounted version, with a use counted */
	const char *below;     /* path from the root of the data set */
	uint64_t inode;        /* of the directory where the path begins: the root, or one below it */
	char joined[WHERE_PATH];
};

/* Finds the data set that arguments of openat(2) lead into. False: there is none, or it cannot be read past the mount;
 * the mount then answers. On success the caller gives `opened` back with handle_put(). Called inside (inside.h). */
bool where_find(struct where *where, int directory, const char *path);
/* Returns the descriptor, a file of ours, that a path such as /proc/self/fd/7 leads to; -1: none. */
int where_number(const char *path);
