/* SPDX-License-Identifier: MIT */
/* Looks once a second at reads that wait for the device, from a thread of its own that never touches the device: says
 * in the log what it waits for, has failed reads tried again, and answers what waited for longer than the deadline. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "serve/serve.h"
#include "serve/worker/counters.h"

/* serve->watchdog; the workers exist but need not run yet. */
must_check int watchdog_start(struct serve *serve, struct error *err);
/* When the workers have ended. NULL is allowed. */
void watchdog_stop(struct watchdog *watchdog);

struct watchdog_stalls {
	uint64_t since;  /* seconds since 1970; 0: nothing waits */
	uint64_t count;
	double longest;  /* seconds, the one under way included */
};
/* Any thread. */
struct watchdog_stalls watchdog_stalls(const struct watchdog *watchdog);
/* What this thread answered. */
const struct counters *watchdog_counters(const struct watchdog *watchdog);
