/* SPDX-License-Identifier: MIT */
#include "preload/placeholder.h"

#include "lib/high.h"
#include "preload/next.h"
#include "preload/streams.h"

#define PLACEHOLDER_FLAGS (O_PATH | O_NOFOLLOW) /* which few descriptors of a program have */
#define PLACEHOLDER_LEAST 3 /* standard input is read inside of the C library */

static int original = -1;

bool placeholder_prepare(void)
{
	if (original >= 0)
		return true;
	original = next()->open("/proc/self", PLACEHOLDER_FLAGS | O_CLOEXEC);
	if (original >= 0)
		high_move(&original);
	return original >= 0;
}

int placeholder_new(int flags)
{
	int fd = next()->fcntl(original, flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0);

	if (fd >= PLACEHOLDER_LEAST && !streams_have(fd) && placeholder_is(fd))
		return fd;
	if (fd >= 0)
		next()->close(fd);
	return -1;
}

bool placeholder_is(int fd)
{
	int flags = next()->fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & (PLACEHOLDER_FLAGS | O_DIRECTORY)) == PLACEHOLDER_FLAGS;
}
