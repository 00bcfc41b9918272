/* SPDX-License-Identifier: MIT */
/* Keeps the names that are still to go through as text, and puts the target of a link in front of them. */
#include "base/descent.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdname.h"
#include "base/mountinfo.h"

#define DESCENT_STEP  (O_PATH | O_NOFOLLOW | O_CLOEXEC)
#define DESCENT_LINKS 40u /* the kernel's own limit: path_resolution(7) */

struct descent {
	uint32_t user;
	int fd;              /* of the folder or file that was reached */
	struct stat st;      /* of it */
	char done[PATH_MAX]; /* its path, without links; "": the root */
	char rest[PATH_MAX]; /* names that are to come */
	unsigned links;
};

static const char *descent_path(const struct descent *descent)
{
	return *descent->done ? descent->done : "/";
}

static bool descent_is_ours(const struct descent *descent, uint32_t user)
{
	return !user || user == descent->user;
}

/* ---- who can change it ---- */

static int descent_refuse(const struct descent *descent, const char *what, uint32_t found, struct error *err)
{
	char expected[sizeof(" or user 4294967295")] = "";

	if (descent->user)
		snprintf(expected, sizeof(expected), " or user %" PRIu32, descent->user);
	return error_set(err, -EPERM, "'%s' %s user %" PRIu32 ", expected root%s", descent_path(descent), what, found,
			 expected);
}

static int descent_check_writers(const struct descent *descent, const struct stat *st, struct error *err)
{
	bool is_kept = S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX;

	if (!descent_is_ours(descent, st->st_uid))
		return descent_refuse(descent, "belongs to", st->st_uid, err);
	if (st->st_mode & (S_IWGRP | S_IWOTH) && !S_ISLNK(st->st_mode) && !is_kept)
		return error_set(err, -EPERM, "'%s' has the mode %04o, so others may write it: chmod go-w",
				 descent_path(descent), (unsigned)st->st_mode & 07777);
	return 0;
}

/* The user who has mounted a filesystem in user space; any user, if the mount is gone from the table. */
struct descent_mounter {
	dev_t device;
	uint32_t user;
};

static int descent_find_mounter(void *argument, const struct mountinfo *info, struct error *err)
{
	struct descent_mounter *mounter = argument;
	const char *option = strstr(info->options, "user_id=");

	(void)err;
	if (info->device != mounter->device)
		return 0;
	mounter->user = option ? (uint32_t)strtoul(option + strlen("user_id="), NULL, 10) : 0;
	return 1;
}

/* The server of a filesystem in user space says whatever it likes of owners and modes. */
static int descent_check_mounter(const struct descent *descent, const struct stat *st, struct error *err)
{
	struct descent_mounter mounter = { .device = st->st_dev, .user = UINT32_MAX };
	struct statfs fs;
	int r;

	if (fstatfs(descent->fd, &fs) < 0)
		return error_errno(err, "'%s'", descent_path(descent));
	if (fs.f_type != FUSE_SUPER_MAGIC)
		return 0;
	r = mountinfo_each(descent_find_mounter, &mounter, err);
	if (r < 0 || descent_is_ours(descent, mounter.user))
		return r < 0 ? r : 0;
	return descent_refuse(descent, "lies on a filesystem that was mounted by", mounter.user, err);
}

/* ---- one name ---- */

/* Arrives at what fd is open for; the descent takes fd. */
static int descent_arrive(struct descent *descent, int fd, struct error *err)
{
	dev_t from = descent->fd < 0 ? 0 : descent->st.st_dev;
	bool is_first = descent->fd < 0;
	int r;

	close_fd(&descent->fd);
	descent->fd = fd;
	if (fstat(fd, &descent->st) < 0)
		return error_errno(err, "'%s'", descent_path(descent));
	r = descent_check_writers(descent, &descent->st, err);
	return r < 0 || is_first || descent->st.st_dev == from ? r :
								  descent_check_mounter(descent, &descent->st, err);
}

static int descent_to_root(struct descent *descent, struct error *err)
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	if (fd < 0)
		return error_errno(err, "cannot open '/'");
	close_fd(&descent->fd);
	*descent->done = 0;
	return descent_arrive(descent, fd, err);
}

/* Puts the target of a link in front of the rest. The folder of the link was checked; in one with the sticky bit
 * another user could have put the link there. */
static int descent_follow(struct descent *descent, int link, const struct stat *st, struct error *err)
{
	char target[PATH_MAX], rest[PATH_MAX];
	int r = descent_check_writers(descent, st, err);
	ssize_t length;

	if (r < 0)
		return r;
	length = readlinkat(link, "", target, sizeof(target) - 1);
	if (length < 0)
		return error_errno(err, "cannot read the link '%s'", descent_path(descent));
	target[length] = 0;
	if (++descent->links > DESCENT_LINKS)
		return error_set(err, -ELOOP, "'%s' is one link too many", descent_path(descent));
	strcpy(rest, descent->rest);
	if ((size_t)snprintf(descent->rest, sizeof(descent->rest), "%s/%s", target, rest) >= sizeof(descent->rest))
		return error_set(err, -ENAMETOOLONG, "the link '%s' leads to a path that is too long",
				 descent_path(descent));
	*strrchr(descent->done, '/') = 0;
	return *target == '/' ? descent_to_root(descent, err) : 0;
}

/* Opens a name of the folder that was reached. O_DIRECTORY has an automounter mount it. */
static int descent_open_name(const struct descent *descent, const char *name)
{
	int fd = *descent->rest ? openat(descent->fd, name, DESCENT_STEP | O_DIRECTORY) : -1;

	return fd < 0 ? openat(descent->fd, name, DESCENT_STEP) : fd;
}

static int descent_down(struct descent *descent, const char *name, struct error *err)
{
	size_t length = strlen(descent->done);
	auto_close int next = -1;
	struct stat st;

	if ((size_t)snprintf(descent->done + length, sizeof(descent->done) - length, "/%s", name) >=
	    sizeof(descent->done) - length)
		return error_set(err, -ENAMETOOLONG, "'%s' is too long", descent->done);
	next = descent_open_name(descent, name);
	if (next < 0)
		return error_errno(err, "cannot open '%s'", descent->done);
	if (fstat(next, &st) < 0)
		return error_errno(err, "'%s'", descent->done);
	return S_ISLNK(st.st_mode) ? descent_follow(descent, next, &st, err) :
				     descent_arrive(descent, take_fd(&next), err);
}

static int descent_up(struct descent *descent, struct error *err)
{
	char *last = strrchr(descent->done, '/');
	int fd = openat(descent->fd, "..", DESCENT_STEP);

	if (fd < 0)
		return error_errno(err, "cannot open '%s/..'", descent->done);
	if (last)
		*last = 0;
	return descent_arrive(descent, fd, err);
}

/* Takes the next name from the rest; "" at the end. */
static void descent_take(struct descent *descent, char name[PATH_MAX])
{
	const char *begin = descent->rest + strspn(descent->rest, "/");
	size_t length = strcspn(begin, "/");

	memcpy(name, begin, length);
	name[length] = 0;
	begin += length;
	begin += strspn(begin, "/");
	memmove(descent->rest, begin, strlen(begin) + 1);
}

static int descent_go(struct descent *descent, struct error *err)
{
	int r = descent_to_root(descent, err);
	char name[PATH_MAX];

	while (r == 0) {
		descent_take(descent, name);
		if (!*name)
			break;
		if (!strcmp(name, ".."))
			r = descent_up(descent, err);
		else if (strcmp(name, "."))
			r = descent_down(descent, name, err);
	}
	return r;
}

/* ---- the calls ---- */

static int descent_begin(struct descent *descent, const char *path, struct error *err)
{
	char *rest = descent->rest;

	if (*path != '/' && !getcwd(rest, PATH_MAX))
		return error_errno(err, "'%s'", path);
	if (!*path)
		return error_set(err, -ENOENT, "'' is no path");
	if (strlen(rest) + 1 + strlen(path) >= PATH_MAX)
		return error_set(err, -ENAMETOOLONG, "a path of %zu bytes is too long", strlen(path));
	strcat(rest, "/");
	strcat(rest, path);
	return 0;
}

int descent_open(const char *path, uint32_t user, int *ret_fd, struct stat *ret_st, struct error *err)
{
	struct descent descent = { .user = user, .fd = -1 };
	int r = descent_begin(&descent, path, err);

	if (r == 0)
		r = descent_go(&descent, err);
	if (r == 0) {
		*ret_st = descent.st;
		*ret_fd = take_fd(&descent.fd);
	}
	close_fd(&descent.fd);
	return r;
}

int descent_open_file(const char *path, uint32_t user, int *ret_fd, struct stat *ret_st, struct error *err)
{
	auto_close int found = -1;
	struct stat st;
	int r = descent_open(path, user, &found, &st, err), fd;

	if (r < 0)
		return r;
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "'%s' is no regular file", path);
	fd = fdname_reopen(found, O_RDONLY);
	if (fd < 0)
		return error_errno(err, "'%s'", path);
	*ret_st = st;
	*ret_fd = fd;
	return 0;
}
