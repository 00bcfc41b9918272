/* SPDX-License-Identifier: MIT */
/* Wraps pthread_timedjoin_np(3), whose deadline is in CLOCK_REALTIME. */
#include "base/thread/join.h"

struct timespec join_deadline(void)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += JOIN_LINGER;
	return deadline;
}

bool join_until(pthread_t thread, const struct timespec *deadline)
{
	return pthread_timedjoin_np(thread, NULL, deadline) == 0;
}

bool join_soon(pthread_t thread)
{
	const struct timespec deadline = join_deadline();

	return join_until(thread, &deadline);
}
