/* SPDX-License-Identifier: MIT */
/* Reads the links of proc_pid_fd(5). */
#include "base/fdname.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

void fdname_link(int fd, char ret[FDNAME_LINK_SIZE])
{
	snprintf(ret, FDNAME_LINK_SIZE, "/proc/self/fd/%d", fd);
}

int fdname_reopen(int fd, int flags)
{
	char link[FDNAME_LINK_SIZE];

	fdname_link(fd, link);
	return open(link, flags | O_CLOEXEC);
}

ssize_t fdname_path(int fd, char *path, size_t size)
{
	char link[FDNAME_LINK_SIZE];
	ssize_t length;

	fdname_link(fd, link);
	length = readlink(link, path, size - 1);
	path[length > 0 ? length : 0] = 0;
	return length;
}
