/* SPDX-License-Identifier: MIT */
/* Reserves the numbers of the standard descriptors. */
#include "base/descriptors.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

void descriptors_reserve(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR); /* takes the lowest number that is free */
		if (fd < 0)
			abort();
	} while (fd <= STDERR_FILENO);
	close(fd);
}
