/* SPDX-License-Identifier: MIT */
/* Preloaded into a program: its clocks are ahead of the machine's, and are moved on while it runs.
 *   CLOCK_AHEAD  a file: its size says how far, in milliseconds
 *   CLOCK_AT     the time of day does not move and is this one, in seconds since 1970
 * A poll(2) with a limit goes by these clocks. What else waits for a time does not: sleeps, waits for a condition
 * (those of progress lines), and what the kernel measures itself, such as how long an answer to a look-up holds. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MILLISECOND INT64_C(1000000)
#define SECOND      INT64_C(1000000000)
#define LOOK        2 /* ms between two looks whether the clocks were moved */

static int64_t clock_ahead(void)
{
	const char *path = getenv("CLOCK_AHEAD");
	int error = errno;
	struct stat st;
	bool found = path && stat(path, &st) == 0;

	errno = error;
	return found ? st.st_size * MILLISECOND : 0;
}

/* Nanoseconds. */
static int64_t clock_shifted(clockid_t clock)
{
	const char *at = getenv("CLOCK_AT");
	struct timespec now;

	if (at && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		return strtoll(at, NULL, 10) * SECOND;
	syscall(SYS_clock_gettime, clock, &now);
	return now.tv_sec * SECOND + now.tv_nsec + clock_ahead();
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int64_t now;

	/* How long a processor worked does not change. */
	if (clock < 0 || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID)
		return (int)syscall(SYS_clock_gettime, clock, ret);
	now = clock_shifted(clock);
	*ret = (struct timespec){ now / SECOND, now % SECOND };
	return 0;
}

int gettimeofday(struct timeval *ret, void *zone)
{
	int64_t now = clock_shifted(CLOCK_REALTIME);

	(void)zone;
	*ret = (struct timeval){ now / SECOND, now % SECOND / 1000 };
	return 0;
}

time_t time(time_t *ret)
{
	time_t now = clock_shifted(CLOCK_REALTIME) / SECOND;

	if (ret)
		*ret = now;
	return now;
}

int poll(struct pollfd *fds, nfds_t count, int limit)
{
	int (*next)(struct pollfd *, nfds_t, int) = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
	int64_t until = clock_shifted(CLOCK_MONOTONIC) + limit * MILLISECOND, left = limit;
	int r;

	if (limit <= 0)
		return next(fds, count, limit);
	do {
		r = next(fds, count, left < LOOK ? (int)left : LOOK);
		left = (until - clock_shifted(CLOCK_MONOTONIC) + MILLISECOND - 1) / MILLISECOND;
	} while (r == 0 && left > 0);
	return r;
}
