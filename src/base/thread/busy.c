/* SPDX-License-Identifier: MIT */
/* Reads /proc/thread-self/schedstat by bare system calls, as programs that the library is in have their own open(2). */
#include "base/thread/busy.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The second number: ns of waiting for a CPU. The first, of running, is some milliseconds old. */
static int64_t busy_waited(void)
{
	char text[80] = "";
	int64_t waited = 0;
	long fd = syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC), n;

	if (fd < 0)
		return 0;
	n = syscall(SYS_read, fd, text, sizeof(text) - 1);
	syscall(SYS_close, fd);
	if (n <= 0 || sscanf(text, "%*u %" SCNd64, &waited) != 1)
		return 0;
	return waited;
}

struct busy busy_look(void)
{
	struct timespec ran;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
	return (struct busy){ (int64_t)ran.tv_sec * 1000000000 + ran.tv_nsec, busy_waited() };
}
