/* SPDX-License-Identifier: MIT */
/* pthread_timedjoin_np(3), which takes the clock of the day. */
#include "base/join.h"

#include <time.h>

bool join_soon(pthread_t thread)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += JOIN_LINGER;
	return pthread_timedjoin_np(thread, NULL, &until) == 0;
}
