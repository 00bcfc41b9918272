/* SPDX-License-Identifier: MIT */
/* Moves a descriptor with F_DUPFD_CLOEXEC, which takes the first free number from the one that is asked for. */
#include "lib/high.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#define HIGH_LEAST 512 /* the lowest number, where the limit allows it */

void high_move(int *fd)
{
	struct rlimit limit = { 0 };
	int high;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	high = fcntl(*fd, F_DUPFD_CLOEXEC, limit.rlim_cur > 2 * HIGH_LEAST ? HIGH_LEAST : (int)(limit.rlim_cur / 2));
	if (high < 0)
		return;
	close(*fd);
	*fd = high;
}
