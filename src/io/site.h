/* SPDX-License-Identifier: MIT */
/* Where a volume is. Its path is walked once; from then on only descriptors count, so that nobody who can rename
 * something on that path can divert a later step. The file is opened again as the file that was found, and its name is
 * used in the directory in which it was found. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

struct site {
	const char *path; /* that was walked; borrowed */
	int file;         /* what it led to, opened for nothing (O_PATH); -1: a file that is to be made */
	int folder;       /* that has the file under name; -1 while that is not known */
	char name[NAME_MAX + 1];
};

#define SITE_NONE ((struct site){ .file = -1, .folder = -1 })

/* Whether both are the same file, or the same block device under any name. */
bool site_is_same(const struct stat *a, const struct stat *b);
/* Turns what open(2) of this path gave as errno into a message that says what to do; negative. */
must_check int site_refuse(const char *path, int code, struct error *err);
/* What path leads to. -ENOENT: nothing. */
must_check int site_find(const char *path, struct site *ret, struct error *err);
/* What is open already, whatever the path that was walked leads to by now. */
must_check int site_again(const char *path, int fd, struct site *ret, struct error *err);
/* For a file that is to be made: the folder and the name. Symlinks that lead nowhere are refused. */
must_check int site_plan(const char *path, struct site *ret, struct error *err);
/* For a file that is to be made beside it. */
must_check int site_beside(const struct site *site, const char *suffix, struct site *ret, struct error *err);
/* The same with random digits behind the suffix, so that nobody can take all the names before us. */
must_check int site_beside_random(const struct site *site, const char *suffix, struct site *ret, struct error *err);
void site_close(struct site *site);

/* Opens what was found; flags as of open(2), without O_CREAT. */
must_check int site_open(const struct site *site, int flags, int *ret_fd, struct error *err);
/* Makes the file, for its owner alone: -EEXIST when the name is taken. */
must_check int site_create(const struct site *site, int *ret_fd, struct error *err);
/* The same without its name, until site_link(): then nothing is left if we are killed. Where the filesystem has no such
 * files it has its name at once. */
must_check int site_create_unnamed(const struct site *site, int *ret_fd, struct error *err);
/* Gives the open file its name, unless it has it already: -EEXIST when that is taken. */
must_check int site_link(const struct site *site, int fd, struct error *err);

/* Finds the folder and the name of the file that is open as fd. -EBUSY: nothing on the path or on the one that the
 * kernel has for it is that file any more. */
must_check int site_name(struct site *site, int fd, struct error *err);
/* Whether the name is that of the open file now. */
bool site_is(const struct site *site, int fd);
/* Whether a filesystem is mounted on the file by itself: then nothing can take its name. */
bool site_is_mount(const struct site *site);
/* The file open as fd takes the name that the file open as former has, or had when nobody has it. -EBUSY: another one
 * has it by now. Who may change the folder can still give the name away between this look and the rename; that takes
 * the right to remove what he puts there. */
must_check int site_replace(const struct site *from, int fd, const struct site *to, int former, struct error *err);
/* Removes the name if it is that of the open file. */
void site_remove(const struct site *site, int fd);
/* Flushes the folder. */
must_check int site_sync(const struct site *site, struct error *err);
