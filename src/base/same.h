/* SPDX-License-Identifier: MIT */
/* Compares files by device and inode. */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

static inline bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether the descriptor is still of this file. The program in which the library is may have closed it, and its number
 * may then be a file of that program's. */
static inline bool same_fd(int fd, const struct stat *file)
{
	struct stat st;

	return fstat(fd, &st) == 0 && same_file(&st, file);
}
