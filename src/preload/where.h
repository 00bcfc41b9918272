/* SPDX-License-Identifier: MIT */
/* Which data set a path leads into, and the path there. */
#pragma once
#include <limits.h>

#include "preload/datasets.h"

/* Bytes of a path that is made of two: longer ones are the mount's, as threads may have small stacks. */
#define WHERE_PATH (DATASET_ROOT + 1024u)

struct where {
	struct dataset *dataset;
	struct opened *opened; /* a use of the version that is mounted */
	const char *below;     /* the path from the root of the data set on */
	uint64_t inode;        /* where it begins: the root, or a directory below it */
	char joined[WHERE_PATH];
};

/* As openat(2) takes them. False: it leads into none, or that is not to be read past the mount; then the mount
 * answers. After a success opened is to be put. Called inside. */
bool where_find(struct where *where, int directory, const char *path);
/* A file of ours that a path leads to by its number, as /proc/self/fd/7 does; -1: none. */
int where_number(const char *path);
