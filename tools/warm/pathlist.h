/* SPDX-License-Identifier: MIT */
/* Files and directories of a mount that the user names, as the numbers by which its daemon knows them. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Zeroed, it is empty. */
struct pathlist {
	uint64_t *numbers; /* st_ino */
	size_t count, room;
};

void pathlist_free(struct pathlist *list);
/* Adds a file or directory. root: the mount's root; path: from there, with or without slashes around it. */
must_check int pathlist_add(struct pathlist *list, int root, const char *path, struct error *err);
/* Adds what a file names, one path a line, or ended by a NUL if there is one; "-": standard input. */
must_check int pathlist_read(struct pathlist *list, int root, const char *file, struct error *err);
