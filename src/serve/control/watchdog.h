/* SPDX-License-Identifier: MIT */
/* Watches reads that wait for the device, once a second, from a thread that never touches the device: logs what they
 * wait for, has failed reads tried again, and answers those past the deadline. */
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
