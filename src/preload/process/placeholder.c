/* SPDX-License-Identifier: MIT */
/* Copies one descriptor for each placeholder, and keeps one more number in reserve. */
#include "preload/process/placeholder.h"

#include <stdatomic.h>

#include "lib/high.h"
#include "preload/process/next.h"
#include "preload/process/own.h"
#include "preload/process/streams.h"

#define PLACEHOLDER_FLAGS (O_PATH | O_NOFOLLOW) /* few descriptors of a program have these */
#define PLACEHOLDER_LEAST 3 /* the least number: streams read 0, 1 and 2 inside the C library */

static int original = -1;
static _Atomic int spare = -1;

bool placeholder_prepare(void)
{
	if (original >= 0)
		return true;
	original = next()->open("/proc/self", PLACEHOLDER_FLAGS | O_CLOEXEC);
	if (original >= 0)
		high_move(&original);
	placeholder_respare();
	return original >= 0;
}

bool placeholder_spare(void)
{
	int fd = atomic_exchange(&spare, -1);

	if (!own_has(fd)) /* the program closed it by a call that we do not see */
		return false;
	close(fd);
	return true;
}

/* Reserves the spare number again; a thread that finds none in between does without. */
void placeholder_respare(void)
{
	int fd = original < 0 ? -1 : fcntl(original, F_DUPFD_CLOEXEC, 0);

	if (fd >= 0)
		high_move(&fd);
	atomic_store(&spare, fd);
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
