/* SPDX-License-Identifier: MIT */
/* A window of the class background, for reads of threads that wait for each. */
#include "io/pace.h"

#include "base/clock.h"
#include "base/program/interrupt.h"

#define PACE_NAP INT64_C(100000000) /* ns between two looks for a signal */

int pace_new(uint32_t members, uint64_t bandwidth, struct window **ret, struct error *err)
{
	const struct window_setup setup = { .members = members, .is_adaptive = true, .bandwidth = bandwidth };

	return window_new(&setup, ret, err);
}

int64_t pace_begin(struct window *pace, uint64_t bytes)
{
	int64_t now = clock_now(), pause;

	if (!pace)
		return 0;
	while (!window_take(pace, WINDOW_BACKGROUND, NULL, bytes, now)) {
		if (interrupt_check(NULL) < 0)
			return 0;
		pause = window_pause(pace, WINDOW_BACKGROUND, false, now);
		clock_sleep(pause < PACE_NAP ? pause : PACE_NAP);
		now = clock_now();
	}
	return now;
}

void pace_end(struct window *pace, uint32_t member, uint64_t bytes, int64_t begun, int64_t result)
{
	const struct window_read read = { .class = WINDOW_BACKGROUND, .member = member, .bytes = bytes,
					  .begun = begun };

	if (begun)
		window_end(pace, NULL, &read, clock_now(), result);
}
