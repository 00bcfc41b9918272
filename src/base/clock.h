/* SPDX-License-Identifier: MIT */
/* The clock that measures intervals. */
#pragma once
#include <stdint.h>
#include <time.h>

/* Nanoseconds since some moment in the past; never goes back. */
static inline int64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
