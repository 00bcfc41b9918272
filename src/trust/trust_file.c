/* SPDX-License-Identifier: MIT */
/* Reads the file through the descriptor whose path was checked. */
#include "trust/trust_file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/descent.h"

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
	int r = descent_open_file(path, geteuid(), &fd, &st, err);

	if (r < 0)
		return r;
	if (st.st_size > TRUST_FILE_MAX)
		return error_set(err, -EINVAL, "'%s' has %lld bytes, expected at most %u", path,
				 (long long)st.st_size, TRUST_FILE_MAX);
	return trust_file_load(path, fd, (size_t)st.st_size, ret, err);
}
