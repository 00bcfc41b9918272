/* SPDX-License-Identifier: MIT */
/* The place of a volume. Its path is walked once; after that only descriptors are used, so that a user who can rename
 * part of the path cannot divert a later step. The file is opened through the descriptor that was found, and its name
 * is used in the directory where it was found. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

struct site {
	const char *path; /* the path that was walked; borrowed */
	int file;         /* the file found there, opened with O_PATH; -1: not created yet */
	int folder;       /* the directory that has the file under name; -1: not known yet */
	char name[NAME_MAX + 1];
};

#define SITE_NONE ((struct site){ .file = -1, .folder = -1 })

/* True if both are the same file, or the same block device under any name. */
bool site_is_same(const struct stat *a, const struct stat *b);
/* Turns the errno of open(2) on path into a message that says what to do. Returns a negative errno. */
must_check int site_refuse(const char *path, int code, struct error *err);
/* Finds the file that path leads to. -ENOENT: none. */
must_check int site_find(const char *path, struct site *ret, struct error *err);
/* Makes a site of a file that is already open, wherever its path leads by now. */
must_check int site_again(const char *path, int fd, struct site *ret, struct error *err);
/* Finds folder and name for a file to be created. Refuses dangling symlinks. */
must_check int site_plan(const char *path, struct site *ret, struct error *err);
/* Plans a new file beside site's, with suffix added to the name. */
must_check int site_beside(const struct site *site, const char *suffix, struct site *ret, struct error *err);
/* Like site_beside(), with random digits after the suffix, so that no user can occupy all names in advance. */
must_check int site_beside_random(const struct site *site, const char *suffix, struct site *ret, struct error *err);
void site_close(struct site *site);

/* Opens the file that was found; flags as for open(2), without O_CREAT. */
must_check int site_open(const struct site *site, int flags, int *ret_fd, struct error *err);
/* Creates the file with access for its owner only. -EEXIST: the name is taken. */
must_check int site_create(const struct site *site, int *ret_fd, struct error *err);
/* Creates a file that has no name before site_link(), so that nothing remains if we are killed. On filesystems
 * without such files it has its name at once. */
must_check int site_create_unnamed(const struct site *site, int *ret_fd, struct error *err);
/* Gives the open file its name, unless it already has it. -EEXIST: the name is taken. */
must_check int site_link(const struct site *site, int fd, struct error *err);

/* Finds folder and name of the file open as fd. -EBUSY: neither site's path nor the path that the kernel reports for
 * fd leads to that file any more. */
must_check int site_name(struct site *site, int fd, struct error *err);
/* True if the name in the folder is that of the open file, and not by way of a link. */
bool site_has(int folder, const char *name, int fd);
/* True if the name now belongs to the open file. */
bool site_is(const struct site *site, int fd);
/* True if a filesystem is mounted on the file itself: then nothing can take its name. */
bool site_is_mount(const struct site *site);
/* Gives the file open as fd the name of the file open as former, also if no file has that name any more. -EBUSY:
 * another file has it. A user who may change the folder can still swap files between this check and the rename, but
 * only with the right to remove the file that is put there. */
must_check int site_replace(const struct site *from, int fd, const struct site *to, int former, struct error *err);
/* Removes the name if it belongs to the open file. */
void site_remove(const struct site *site, int fd);
/* Flushes the folder. */
must_check int site_sync(const struct site *site, struct error *err);
