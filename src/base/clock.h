/* SPDX-License-Identifier: MIT */
/* The clocks that measure intervals and the time that a process computes. */
#pragma once
#include <stdint.h>
#include <time.h>

/* CPU time of all threads of the process, in user and kernel mode, in nanoseconds. */
static inline int64_t clock_cpu(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* Nanoseconds since some moment in the past; never goes back. */
static inline int64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
