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

/* close_range(2) needs Linux 5.9; older kernels leave them open. */
void descriptors_close_inherited(int spared)
{
	unsigned first = STDERR_FILENO + 1;

	if (spared > STDERR_FILENO) {
		if ((unsigned)spared > first)
			(void)close_range(first, (unsigned)spared - 1, 0);
		first = (unsigned)spared + 1;
	}
	(void)close_range(first, ~0u, 0);
}

void descriptors_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}
