/* SPDX-License-Identifier: MIT */
/* Keeps the standard descriptors open and raises the limit on their number. */
#include "base/program/descriptors.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

void descriptors_reserve(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR); /* open() takes the lowest free number */
		if (fd < 0)
			abort();
	} while (fd <= STDERR_FILENO);
	close(fd);
}

void descriptors_close_inherited(void)
{
	(void)close_range(STDERR_FILENO + 1, ~0u, 0); /* needs Linux 5.9; older kernels leave them open */
}

void descriptors_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}
