/* SPDX-License-Identifier: MIT */
/* Goes one name at a time, each from the folder that was looked at. */
#include "base/descent.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* Replaces *fd by the file of this name in it. */
static int descent_step(int *fd, const char *name, const char *path, struct error *err)
{
	int next = openat(*fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (next < 0)
		return error_errno(err, "cannot open '%s'", path);
	close_fd(fd);
	*fd = next;
	return 0;
}

/* The copy of the path is cut behind the present name for the moment. */
int descent_open(const char *path, descent_check *check, const void *argument, int *ret_fd, struct error *err)
{
	auto_close int fd = open("/", O_PATH | O_CLOEXEC);
	char copy[PATH_MAX], *name = copy, *end;
	int r;

	if (fd < 0)
		return error_errno(err, "cannot open '/'");
	if (strlen(path) >= sizeof(copy))
		return error_set(err, -ENAMETOOLONG, "'%s' is too long", path);
	strcpy(copy, path);
	r = check(argument, fd, false, "/", err);
	while (r == 0 && name) {
		end = strchr(++name, '/');
		if (end)
			*end = 0;
		r = descent_step(&fd, name, copy, err);
		if (r == 0)
			r = check(argument, fd, !end, copy, err);
		if (end)
			*end = '/';
		name = end;
	}
	if (r == 0)
		*ret_fd = take_fd(&fd);
	return r;
}

int descent_check_writers(const struct stat *st, const char *path, uint32_t user, struct error *err)
{
	char expected[sizeof(" or user 4294967295")] = "";

	if (user)
		snprintf(expected, sizeof(expected), " or user %" PRIu32, user);
	if (st->st_uid && st->st_uid != user)
		return error_set(err, -EPERM, "'%s' belongs to user %u, expected root%s", path,
				 (unsigned)st->st_uid, expected);
	if (st->st_mode & (S_IWGRP | S_IWOTH) && !(S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX))
		return error_set(err, -EPERM, "'%s' has the mode %04o, so others may write it: chmod go-w", path,
				 (unsigned)st->st_mode & 07777);
	return 0;
}
