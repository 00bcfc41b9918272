/* SPDX-License-Identifier: MIT */
/* Sets the size of a new file. RLIMIT_FSIZE holds for files in memory, too, and its hard limit is often higher. */
#include "base/memory_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Sets the size in a child, which may lift its own limit: a limit belongs to a whole process, so lifting it here would
 * lift it for every thread, and two threads could restore each other's. Returns 0 or the errno. */
static int memory_file_size_in_child(int fd, off_t size)
{
	struct rlimit limit;
	int status;
	pid_t child;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0)
		return errno;
	limit.rlim_cur = limit.rlim_max;
	child = vfork();
	if (child == 0) {
		setrlimit(RLIMIT_FSIZE, &limit);
		_exit(ftruncate(fd, size) == 0 ? 0 : errno);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return errno;
	return child < 0 ? errno : WIFEXITED(status) ? WEXITSTATUS(status) : EFBIG;
}

static int memory_file_size(int fd, off_t size)
{
	if (ftruncate(fd, size) == 0)
		return 0;
	if (errno == EFBIG)
		errno = memory_file_size_in_child(fd, size);
	return errno == 0 ? 0 : -1;
}

int memory_file_make(const char *name, size_t size, int *ret_fd, struct error *err)
{
	auto_close int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || memory_file_size(fd, (off_t)size) < 0)
		return error_errno(err, "cannot make the file '%s' in memory", name);
	*ret_fd = take_fd(&fd);
	return 0;
}
