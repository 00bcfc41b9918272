/* SPDX-License-Identifier: MIT */
/* Reads the file that was looked at on the way along its real path. */
#include "trust/trust_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdname.h"
#include "base/descent.h"

static int trust_file_check(const void *argument, int fd, bool is_file, const char *path, struct error *err)
{
	struct stat st;

	(void)argument;
	if (fstat(fd, &st) < 0)
		return error_errno(err, "'%s'", path);
	if (is_file && (!S_ISREG(st.st_mode) || st.st_size > TRUST_FILE_MAX))
		return error_set(err, -EINVAL, "'%s' is no regular file of at most %u bytes", path, TRUST_FILE_MAX);
	return descent_check_writers(&st, path, geteuid(), err);
}

/* Opens the file for reading that was looked at. */
static int trust_file_open(const char *path, int *ret, struct error *err)
{
	char real[PATH_MAX], link[FDNAME_LINK_SIZE];
	auto_close int fd = -1;
	int r;

	if (!realpath(path, real))
		return error_errno(err, "'%s'", path);
	r = descent_open(real, trust_file_check, NULL, &fd, err);
	if (r < 0)
		return r;
	fdname_link(fd, link);
	*ret = open(link, O_RDONLY | O_CLOEXEC);
	return *ret < 0 ? error_errno(err, "'%s'", path) : 0;
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
	auto_close int fd = -1;
	struct stat st;
	int r = trust_file_open(path, &fd, err);

	if (r < 0)
		return r;
	return fstat(fd, &st) < 0 ? error_errno(err, "'%s'", path) :
				    trust_file_load(path, fd, (size_t)st.st_size, ret, err);
}
