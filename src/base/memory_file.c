/* SPDX-License-Identifier: MIT */
/* Sets the size of a new file. RLIMIT_FSIZE holds for files in memory, too, and its hard limit is often higher. */
#include "base/memory_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"

static int memory_file_size(int fd, off_t size)
{
	struct rlimit before, most;
	int r, code;

	if (ftruncate(fd, size) == 0)
		return 0;
	if (errno != EFBIG || getrlimit(RLIMIT_FSIZE, &before) < 0)
		return -1;
	most = (struct rlimit){ before.rlim_max, before.rlim_max };
	setrlimit(RLIMIT_FSIZE, &most);
	r = ftruncate(fd, size);
	code = errno;
	setrlimit(RLIMIT_FSIZE, &before);
	errno = code;
	return r;
}

int memory_file_make(const char *name, size_t size, int *ret_fd, struct error *err)
{
	auto_close int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || memory_file_size(fd, (off_t)size) < 0)
		return error_errno(err, "cannot make the file '%s' in memory", name);
	*ret_fd = take_fd(&fd);
	return 0;
}
