/* SPDX-License-Identifier: MIT */
/* Looks at the file that was opened, and at each folder on the real path to it. */
#include "trust/trust_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

/* In a folder with the sticky bit others cannot replace what is not theirs. */
static int trust_file_check(const char *path, const struct stat *st, struct error *err)
{
	bool is_sticky = S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX;

	if (st->st_uid != 0 && st->st_uid != geteuid())
		return error_set(err, -EPERM, "'%s' belongs to user %u, expected root or user %u", path,
				 (unsigned)st->st_uid, (unsigned)geteuid());
	if (st->st_mode & 022 && !is_sticky)
		return error_set(err, -EPERM, "'%s' has the mode %04o, so others may write it: chmod go-w", path,
				 (unsigned)st->st_mode & 07777);
	return 0;
}

/* Checks the folders from the file's up to the root. */
static int trust_file_check_folders(const char *file, struct error *err)
{
	char path[PATH_MAX];
	struct stat st;
	char *slash;
	int r = 0;

	if (!realpath(file, path))
		return error_errno(err, "'%s'", file);
	while (r == 0 && (slash = strrchr(path, '/')) && path[1]) {
		slash[slash == path] = 0;
		if (stat(path, &st) < 0)
			return error_errno(err, "'%s'", path);
		r = trust_file_check(path, &st, err);
	}
	return r;
}

static int trust_file_load(const char *path, int fd, size_t size, struct span *ret, struct error *err)
{
	auto_free uint8_t *bytes = malloc(size + 1);
	ssize_t n;

	if (!bytes)
		return error_no_memory(err);
	n = pread(fd, bytes, size + 1, 0);
	if (n < 0)
		return error_errno(err, "'%s'", path);
	if ((size_t)n != size)
		return error_set(err, -EAGAIN, "'%s' changes while it is read: try again", path);
	*ret = span_of(take_ptr(&bytes), size);
	return 0;
}

int trust_file_read(const char *path, struct span *ret, struct error *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	int r;

	if (fd < 0)
		return error_errno(err, "'%s'", path);
	if (fstat(fd, &st) < 0)
		return error_errno(err, "'%s'", path);
	if (!S_ISREG(st.st_mode) || st.st_size > TRUST_FILE_MAX)
		return error_set(err, -EINVAL, "'%s' is no regular file of at most %u bytes", path, TRUST_FILE_MAX);
	r = trust_file_check(path, &st, err);
	if (r == 0)
		r = trust_file_check_folders(path, err);
	return r < 0 ? r : trust_file_load(path, fd, (size_t)st.st_size, ret, err);
}
