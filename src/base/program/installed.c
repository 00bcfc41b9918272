/* SPDX-License-Identifier: MIT */
/* Walks the path once, one name at a time, and executes what it has looked at: nobody can put something else there in
 * between. */
#include "base/program/installed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define INSTALLED_GONE " (deleted)" /* the kernel's mark of a file that has lost its name: proc_pid_exe(5) */

int installed_path(char path[PATH_MAX], struct error *err)
{
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
	size_t mark = strlen(INSTALLED_GONE);

	if (length < 0)
		return error_errno(err, "cannot read '/proc/self/exe'");
	path[length] = 0;
	if ((size_t)length > mark && !strcmp(path + length - mark, INSTALLED_GONE))
		path[(size_t)length - mark] = 0;
	return *path == '/' ? 0 : error_set(err, -ENOENT, "the program '%s' has no path here", path);
}

bool installed_is_another(void)
{
	struct stat ours, there;
	char path[PATH_MAX];

	return installed_path(path, NULL) == 0 && stat(path, &there) == 0 && stat("/proc/self/exe", &ours) == 0 &&
	       (ours.st_dev != there.st_dev || ours.st_ino != there.st_ino);
}

/* In a folder with the sticky bit, as /tmp, others can make names but not take away those of root and the owner. */
static int installed_check(int fd, bool is_program, uint32_t owner, const char *path, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, "'%s'", path);
	if (is_program && (!S_ISREG(st.st_mode) || !(st.st_mode & 0111)))
		return error_set(err, -EACCES, "'%s' is no program", path);
	if (!is_program && !S_ISDIR(st.st_mode))
		return error_set(err, -ENOTDIR, "'%s' is no folder any more", path);
	if (st.st_uid && st.st_uid != owner)
		return error_set(err, -EPERM, "'%s' belongs to user %u", path, (unsigned)st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH) && (is_program || !(st.st_mode & S_ISVTX)))
		return error_set(err, -EPERM, "'%s' is writable by others", path);
	return 0;
}

/* Replaces *fd by the file of this name in it. */
static int installed_step(int *fd, const char *name, const char *path, struct error *err)
{
	int next = openat(*fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (next < 0)
		return error_errno(err, "cannot open '%s'", path);
	close_fd(fd);
	*fd = next;
	return 0;
}

/* Checks what fd is, then goes on to the next name. path is cut behind it for the moment. */
int installed_open(uint32_t owner, int *ret_fd, struct error *err)
{
	auto_close int fd = open("/", O_PATH | O_CLOEXEC);
	char path[PATH_MAX], *name = path, *end;
	int r = fd < 0 ? error_errno(err, "cannot open '/'") : installed_path(path, err);

	if (r == 0)
		r = installed_check(fd, false, owner, "/", err);
	while (r == 0 && name) {
		end = strchr(++name, '/');
		if (end)
			*end = 0;
		r = installed_step(&fd, name, path, err);
		if (r == 0)
			r = installed_check(fd, !end, owner, path, err);
		if (end)
			*end = '/';
		name = end;
	}
	if (r == 0)
		*ret_fd = take_fd(&fd);
	return r;
}
