/* SPDX-License-Identifier: MIT */
/* Clocks: one for intervals, one for the CPU time of the process. */
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
