/* SPDX-License-Identifier: MIT */
/* Clocks: one for intervals, one for the CPU time of the process; a pause; and the text of a date. */
#pragma once
#include <stdint.h>
#include <time.h>

/* Returns the CPU time of all threads of the process, user and kernel, in nanoseconds. */
static inline int64_t clock_cpu(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* Returns the monotonic time in nanoseconds since an unspecified start. */
static inline int64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Sleeps for nanoseconds, or until a signal. */
static inline void clock_sleep(int64_t ns)
{
	const struct timespec pause = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	(void)nanosleep(&pause, NULL);
}

#define CLOCK_DATE_SIZE 24
/* Formats seconds since the epoch in UTC, as RFC 3339 does: "2026-11-21T03:18:00Z"; "" after the year 9999. Returns
 * text. */
static inline const char *clock_date(uint64_t seconds, char text[CLOCK_DATE_SIZE])
{
	time_t when = (time_t)seconds;
	struct tm tm;

	if (seconds >= UINT64_C(253402300800) || !gmtime_r(&when, &tm) ||
	    !strftime(text, CLOCK_DATE_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm))
		text[0] = 0;
	return text;
}
