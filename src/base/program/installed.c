/* SPDX-License-Identifier: MIT */
/* Opens the installed program by a path that only root and the owner can change. */
#include "base/program/installed.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/descent.h"
#include "base/same.h"

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
	       !same_file(&ours, &there);
}

int installed_open(uint32_t owner, int *ret_fd, struct error *err)
{
	char path[PATH_MAX];
	auto_close int fd = -1;
	struct stat st;
	int r = installed_path(path, err);

	if (r == 0)
		r = descent_open(path, owner, &fd, &st, err);
	if (r < 0)
		return r;
	if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return error_set(err, -EACCES, "'%s' is no program", path);
	*ret_fd = take_fd(&fd);
	return 0;
}
